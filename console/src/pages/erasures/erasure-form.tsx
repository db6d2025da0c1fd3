import { useState } from 'react';
import type { ErasureStart } from '../../../../src/wire/contract/erasures.ts';
import { Button } from '../../components/button.tsx';
import { EraseDialog } from '../../components/erase-dialog.tsx';
import { EventSelectionFields } from '../../components/event-selection-fields.tsx';
import { everyEvent, linesOf, selectionOf, type SelectionDraft } from '../../components/event-selection.ts';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextArea } from '../../components/text-area.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useProject } from '../../shell/project-context.tsx';

interface Draft {
  readonly what: 'persons' | 'events';
  /** One per line. */
  readonly ids: string;
  readonly selection: SelectionDraft;
}

const empty: Draft = { what: 'persons', ids: '', selection: everyEvent };

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
          <TextArea
            label="Distinct ids"
            hint="One per line. Each selects its person with all of its ids."
            rows={4}
            value={draft.ids}
            onChange={(ids) => change({ ids })}
          />
        ) : (
          <EventSelectionFields
            draft={draft.selection}
            onChange={(selection) => change({ selection })}
            done="erased"
            withPerson={false}
          />
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

function bodyOf({ what, ids, selection }: Draft): ErasureStart {
  return what === 'persons' ? { distinct_ids: linesOf(ids) } : { selection: selectionOf(selection) };
}
