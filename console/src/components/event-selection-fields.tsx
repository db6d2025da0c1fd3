import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { selectionErrors, type SelectionDraft } from './event-selection.ts';
import { Select } from './select.tsx';
import { TextArea } from './text-area.tsx';
import { TextInput } from './text-input.tsx';
import { UserText } from './user-text.tsx';

interface EventSelectionFieldsProps {
  readonly draft: SelectionDraft;
  readonly onChange: (draft: SelectionDraft) => void;
  /** What happens to the events: "exported". */
  readonly done: string;
  /** Of the request, for the fields that it refers to. */
  readonly error?: unknown;
  /** By default shown; the service erases persons in another way. */
  readonly withPerson?: boolean;
  /** Further fields of the form, in the same grid. */
  readonly children?: ReactNode;
}

/** The fields that select stored events: all conditions must match. */
export function EventSelectionFields({
  draft,
  onChange,
  done,
  error,
  withPerson = true,
  children,
}: EventSelectionFieldsProps) {
  const errors = selectionErrors(error);
  const of = <Name extends Exclude<keyof SelectionDraft, 'properties'>>(name: Name) => ({
    value: draft[name],
    onChange: (value: SelectionDraft[Name]) => onChange({ ...draft, [name]: value }),
  });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextInput
        label="From"
        hint="A day or time, UTC. Empty: from the first event."
        placeholder="2026-01-01"
        error={errors.after}
        {...of('after')}
      />
      <TextInput
        label="Before"
        hint={`The first day or time that is not ${done}. Empty: until now.`}
        placeholder="2026-01-31T12:00"
        error={errors.before}
        {...of('before')}
      />
      <TextArea
        label="Event names"
        hint="One per line. * matches any characters. Empty: every event."
        rows={2}
        error={errors.events}
        {...of('events')}
      />
      <TextArea
        label="Distinct ids"
        hint="One per line. Empty: every id."
        rows={2}
        error={errors.distinct_ids}
        {...of('distinctIds')}
      />
      <Select
        label="Kind"
        choices={[
          { value: 'all', label: 'All events' },
          { value: 'live', label: 'Live events only' },
          { value: 'historical', label: 'Imported history only' },
        ]}
        {...of('kind')}
      />
      <TextInput label="Import run" error={errors.import_run} {...of('importRun')} />
      {withPerson && <TextInput label="Person" hint="Its UUID." error={errors.person_id} {...of('personId')} />}
      {draft.properties.length > 0 && (
        <p className="flex flex-col items-start gap-1 text-sm">
          <span className="text-soft">Properties</span>
          <UserText
            text={draft.properties.map(({ key, operator, value = '' }) => `${key} ${operator} ${value}`).join(', ')}
            charsMax={300}
          />
          <Button size="small" onClick={() => onChange({ ...draft, properties: [] })}>
            Clear
          </Button>
        </p>
      )}
      {children}
    </div>
  );
}
