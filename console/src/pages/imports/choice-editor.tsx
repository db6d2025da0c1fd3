import { useState } from 'react';
import type { ImportChoice, NameLists } from '../../../../src/wire/contract/import-choice.ts';
import { oddValueKeys, oddValues, type OddValue } from '../../../../src/wire/contract/odd-values.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { choiceSetting, oddValueFields, percentOf, readChoice, shareOf } from './choice-fields.ts';
import { JsonText } from './json-text.tsx';
import { NameList } from './name-list.tsx';
import { RenamesEditor } from './renames-editor.tsx';

interface ChoiceEditorProps {
  /** The setting `choose`. */
  readonly setting: unknown;
  /** Names of the first records, to choose from. */
  readonly known: { readonly events: readonly string[]; readonly properties: readonly string[] };
  readonly onChange: (setting: unknown) => void;
}

/** What of the source is imported, and as what. What the fields do not show (tables, values) is edited as JSON, and stays. */
export function ChoiceEditor({ setting, known, onChange }: ChoiceEditorProps) {
  const [asJson, setAsJson] = useState(false);
  const choice = readChoice(setting);
  const change = (part: Partial<ImportChoice>): void => onChange(choiceSetting({ ...choice, ...part }));
  if (asJson || choice === undefined) {
    return (
      <div className="flex flex-col items-start gap-3 *:w-full">
        <JsonText label="Choice as JSON" value={choice ?? setting} onChange={onChange} />
        {choice !== undefined && (
          <Button kind="quiet" className="w-fit!" onClick={() => setAsJson(false)}>
            Edit as a form
          </Button>
        )}
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <TimeRange time={choice.time ?? {}} onChange={(time) => change({ time })} />
      <Lists what="events" lists={choice.events ?? {}} names={known.events} onChange={(events) => change({ events })} />
      <Lists
        what="properties"
        lists={choice.properties ?? {}}
        names={known.properties}
        onChange={(lists) => change({ properties: { ...choice.properties, ...lists } })}
      />
      <RenamesEditor
        renames={choice.properties?.rename ?? {}}
        names={known.properties}
        onChange={(rename) => change({ properties: { ...choice.properties, rename } })}
      />
      <Persons choice={choice} onChange={change} />
      <OddValues choice={choice} onChange={change} />
      <div>
        <Button size="small" onClick={() => setAsJson(true)}>
          Joins and tables of values: edit as JSON
        </Button>
      </div>
    </div>
  );
}

type Time = NonNullable<ImportChoice['time']>;

function TimeRange({ time, onChange }: { readonly time: Time; readonly onChange: (time: Time) => void }) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TimeInput label="From" value={time.from} onChange={(from) => onChange({ ...time, from })} />
      <TimeInput label="Before" value={time.to} onChange={(to) => onChange({ ...time, to })} />
    </div>
  );
}

interface TimeInputProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
}

const dayForm = /^\d{4}-\d\d-\d\d$/;

/** A day from the browser's calendar; a time of day, from JSON, as text. */
function TimeInput({ label, value = '', onChange }: TimeInputProps) {
  return (
    <TextInput
      label={label}
      type={value === '' || dayForm.test(value) ? 'date' : 'text'}
      hint="By the event's own time, UTC."
      value={value}
      onChange={onChange}
    />
  );
}

interface ListsProps {
  readonly what: 'events' | 'properties';
  readonly lists: NameLists;
  readonly names: readonly string[];
  readonly onChange: (lists: NameLists) => void;
}

function Lists({ what, lists, names, onChange }: ListsProps) {
  const { only = [], except = [] } = lists;
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2">
      <NameList
        label={`Only these ${what}`}
        hint="Empty: all."
        names={only}
        suggestions={names}
        onChange={(next) => onChange({ ...lists, only: [...next] })}
      />
      <NameList
        label={`Never these ${what}`}
        names={except}
        suggestions={names}
        onChange={(next) => onChange({ ...lists, except: [...next] })}
      />
    </div>
  );
}

interface PartProps {
  readonly choice: ImportChoice;
  readonly onChange: (part: Partial<ImportChoice>) => void;
}

const identities = [
  { value: 'first_user', label: 'A device belongs to its first user' },
  { value: 'merge', label: 'All users of a device are one person' },
  { value: 'never_merge', label: 'Never: every id stays a person' },
  { value: 'device_only', label: 'By device only; nobody is identified' },
] as const;

function Persons({ choice, onChange }: PartProps) {
  const [percent, setPercent] = useState(percentOf(choice.sample));
  const isPercent = percent.trim() === '' || percent.trim() === '100' || shareOf(percent) !== undefined;
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2">
      <TextInput
        label="Share of the persons (%)"
        hint="10 takes all events of a tenth of the ids, always the same ones."
        inputMode="decimal"
        placeholder="100"
        value={percent}
        error={isPercent ? undefined : 'Expected a percentage above 0, up to 100.'}
        onChange={(next) => {
          setPercent(next);
          onChange({ sample: shareOf(next) });
        }}
      />
      <Select
        label="Ids of one person"
        value={choice.identity ?? 'first_user'}
        choices={identities}
        onChange={(identity) => onChange({ identity: identity === 'first_user' ? undefined : identity })}
      />
      <Checkbox
        label="Read browser and system from the user agent"
        checked={choice.user_agent === true}
        onChange={(is) => onChange({ user_agent: is || undefined })}
      />
    </div>
  );
}

/** The rules for values that are not what they look like; the first rule of each holds without a choice. */
function OddValues({ choice, onChange }: PartProps) {
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Rules for unusual ids, names and times</summary>
      <div className="grid items-start gap-3 pt-3 sm:grid-cols-2">
        {oddValueKeys.map((key) => (
          <OddValueSelect key={key} of={key} choice={choice} onChange={onChange} />
        ))}
      </div>
    </details>
  );
}

function OddValueSelect({ of, choice, onChange }: PartProps & { readonly of: OddValue }) {
  const { rules, does } = oddValues[of];
  const [standard] = rules;
  const choices = rules.map((rule) => ({ value: rule, label: rule === standard ? `${rule} (default)` : rule }));
  return (
    <Select
      label={oddValueFields[of]}
      hint={does.replaceAll('`', '')}
      value={choice[of] ?? standard}
      choices={choices}
      onChange={(rule) => onChange({ [of]: rule === standard ? undefined : rule })}
    />
  );
}
