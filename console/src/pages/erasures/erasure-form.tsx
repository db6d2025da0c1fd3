import { useState } from 'react';
import type { ErasureStart } from '../../../../src/wire/contract/erasures.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { EraseDialog } from '../../components/erase-dialog.tsx';

interface Draft {
  readonly what: 'persons' | 'events';
  readonly ids: string;
  readonly isKeptOut: boolean;
  readonly names: string;
  readonly after: string;
  readonly before: string;
}

const empty: Draft = { what: 'persons', ids: '', isKeptOut: false, names: '', after: '', before: '' };

/** Chooses what to erase, which the dialog counts before anything happens. */
export function ErasureForm() {
  const { name } = useProject();
  const toast = useToast();
  const [draft, setDraft] = useState(empty);
  const [body, setBody] = useState<ErasureStart>();
  const change = (more: Partial<Draft>): void => setDraft({ ...draft, ...more });
  return (
    <Section title="Erase" description="Persons with everything stored of them, or events by a filter. Counted first.">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          setBody(bodyOf(draft));
        }}
      >
        <Select
          label="What to erase"
          value={draft.what}
          choices={[
            { value: 'persons', label: 'Persons' },
            { value: 'events', label: 'Events by a filter' },
          ]}
          onChange={(what) => change({ what })}
        />
        {draft.what === 'persons' ? (
          <PersonFields draft={draft} onChange={change} />
        ) : (
          <FilterFields draft={draft} onChange={change} />
        )}
        <div>
          <Button type="submit" kind="primary">
            Count
          </Button>
        </div>
      </form>
      {body !== undefined && (
        <EraseDialog
          body={body}
          confirm={name}
          confirmLabel="the name of the project"
          onClose={() => setBody(undefined)}
          onStarted={() => {
            setBody(undefined);
            setDraft(empty);
            toast.done('Erasure started');
          }}
        />
      )}
    </Section>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

function PersonFields({ draft, onChange }: FieldsProps) {
  return (
    <>
      <TextArea
        label="Distinct ids"
        hint="One per line. Each selects its person with all of its ids."
        rows={4}
        value={draft.ids}
        onChange={(ids) => onChange({ ids })}
      />
      <Checkbox
        label="Keep them out"
        hint="Events of these ids are dropped from now on, live and in imports. Only hashes of the ids are kept."
        checked={draft.isKeptOut}
        onChange={(isKeptOut) => onChange({ isKeptOut })}
      />
    </>
  );
}

function FilterFields({ draft, onChange }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextArea
        label="Event names"
        hint="One per line. * matches any characters. Empty: every event."
        rows={2}
        value={draft.names}
        onChange={(names) => onChange({ names })}
      />
      <div className="flex flex-col gap-3">
        <TextInput
          label="From"
          type="date"
          hint="UTC. Empty: from the first event."
          value={draft.after}
          onChange={(after) => onChange({ after })}
        />
        <TextInput
          label="Before"
          type="date"
          hint="The first day that is not erased. Empty: until now."
          value={draft.before}
          onChange={(before) => onChange({ before })}
        />
      </div>
    </div>
  );
}

function bodyOf({ what, ids, isKeptOut, names, after, before }: Draft): ErasureStart {
  const lines = (text: string): string[] => [...new Set(text.split('\n').filter((line) => line !== ''))];
  if (what === 'persons') return { distinct_ids: lines(ids), ...(isKeptOut && { keep_out: true }) };
  const events = lines(names);
  return {
    selection: {
      ...(events.length > 0 && { events }),
      ...(after !== '' && { after }),
      ...(before !== '' && { before }),
    },
  };
}
