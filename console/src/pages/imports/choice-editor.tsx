import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import type { ImportChoice, NameLists } from '../../../../src/wire/contract/import-choice.ts';
import { type UnusualValue, unusualValueKeys, unusualValues } from '../../../../src/wire/contract/unusual-values.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { Field } from '../../components/field.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { choiceSetting, unusualValueFields, percentOf, readChoice, shareOf } from './choice-fields.ts';
import { identityChoices, ruleLabel } from './finding-words.ts';
import type { FoundName, FoundNames } from './found-names.ts';
import { FoundNamesTable, type Renames } from './found-names-table.tsx';
import { JsonText } from './json-text.tsx';

interface ChoiceEditorProps {
  /** Value of the setting `choose`. */
  readonly setting: unknown;
  readonly found: FoundNames;
  readonly onChange: (setting: unknown) => void;
}

/** Edits what is imported and under which names. Parts without a field (joins, value tables) are kept and can be edited as JSON. */
export function ChoiceEditor({ setting, found, onChange }: ChoiceEditorProps) {
  const [asJson, setAsJson] = useState(false);
  const choice = readChoice(setting);
  const change = (part: Partial<ImportChoice>): void => onChange(choiceSetting({ ...choice, ...part }));
  if (asJson || choice === undefined) {
    return (
      <div className="flex flex-col items-start gap-3 *:w-full">
        <JsonText label="Selection as JSON" value={choice ?? setting} onChange={onChange} />
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
      <Names choice={choice} found={found} onChange={change} />
      <Persons choice={choice} onChange={change} />
      <UnusualValueRules choice={choice} onChange={change} />
      <div>
        <Button size="small" onClick={() => setAsJson(true)}>
          Edit joins and value tables as JSON
        </Button>
      </div>
    </div>
  );
}

/** The names in the first records as tables, and lists for patterns and for names that occur later. */
function Names({ choice, found, onChange }: PartProps & Pick<ChoiceEditorProps, 'found'>) {
  const { events = {}, properties = {} } = choice;
  const changeEvents = (lists: NameLists): void => onChange({ events: lists });
  const changeProperties = (part: typeof properties): void => onChange({ properties: { ...properties, ...part } });
  const renames = {
    renames: properties.rename ?? {},
    onRenames: (rename: Renames): void => changeProperties({ rename }),
  };
  return (
    <>
      <FoundNamesTable what="events" names={found.events} total={found.total} lists={events} onLists={changeEvents} />
      <FoundNamesTable
        what="properties"
        names={found.properties}
        total={found.total}
        lists={properties}
        onLists={changeProperties}
        {...renames}
      />
      <details>
        <summary className="cursor-pointer text-sm font-medium">Patterns, and names that are not listed</summary>
        <div className="flex flex-col gap-4 pt-3">
          <Lists what="events" lists={events} names={namesOf(found.events)} onChange={changeEvents} />
          <Lists what="properties" lists={properties} names={namesOf(found.properties)} onChange={changeProperties} />
          <RenamesEditor {...renames} names={namesOf(found.properties)} />
        </div>
      </details>
    </>
  );
}

function namesOf(found: readonly FoundName[]): readonly string[] {
  return found.map(({ name }) => name);
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

/** A date picker, or a text field if the value has a time of day. */
function TimeInput({ label, value = '', onChange }: TimeInputProps) {
  return (
    <TextInput
      label={label}
      type={value === '' || dayForm.test(value) ? 'date' : 'text'}
      hint="Event time, UTC."
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
        hint="Leave empty for all."
        names={only}
        suggestions={names}
        onChange={(next) => onChange({ ...lists, only: [...next] })}
      />
      <NameList
        label={`Exclude these ${what}`}
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

function Persons({ choice, onChange }: PartProps) {
  const [percent, setPercent] = useState(percentOf(choice.sample));
  const isPercent = percent.trim() === '' || percent.trim() === '100' || shareOf(percent) !== undefined;
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2">
      <TextInput
        label="Sample of persons (%)"
        hint="10 imports all events of one tenth of the ids. The sample is always the same."
        inputMode="decimal"
        placeholder="100"
        value={percent}
        error={isPercent ? undefined : 'Expected a percentage above 0 and up to 100.'}
        onChange={(next) => {
          setPercent(next);
          onChange({ sample: shareOf(next) });
        }}
      />
      <Select
        label="Identity"
        value={choice.identity ?? 'first_user'}
        choices={identityChoices}
        onChange={(identity) => onChange({ identity: identity === 'first_user' ? undefined : identity })}
      />
      <Checkbox
        label="Derive browser and operating system from the user agent"
        checked={choice.user_agent === true}
        onChange={(checked) => onChange({ user_agent: checked || undefined })}
      />
    </div>
  );
}

/** The rules for unusual values; the first rule of each is the default. */
function UnusualValueRules({ choice, onChange }: PartProps) {
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">Rules for unusual ids, names and times</summary>
      <div className="grid items-start gap-3 pt-3 sm:grid-cols-2">
        {unusualValueKeys.map((key) => (
          <UnusualValueSelect key={key} of={key} choice={choice} onChange={onChange} />
        ))}
      </div>
    </details>
  );
}

function UnusualValueSelect({ of, choice, onChange }: PartProps & { readonly of: UnusualValue }) {
  const { rules } = unusualValues[of];
  const [standard] = rules;
  const choices = rules.map((rule) => ({ value: rule, label: ruleLabel(of, rule) }));
  return (
    <Select
      label={unusualValueFields[of]}
      value={choice[of] ?? standard}
      choices={choices}
      onChange={(rule) => onChange({ [of]: rule === standard ? undefined : rule })}
    />
  );
}

interface NameListProps {
  readonly label: string;
  readonly hint?: string;
  readonly names: readonly string[];
  /** Suggested names. */
  readonly suggestions: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}

/** Edits a list of names and patterns. */
function NameList({ label, hint, names, suggestions, onChange }: NameListProps) {
  const list = useId();
  const [typed, setTyped] = useState('');
  const add = (): void => {
    const name = typed.trim();
    if (name !== '' && !names.includes(name)) onChange([...names, name]);
    setTyped('');
  };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <>
          {names.length > 0 && (
            <ul className="flex flex-wrap gap-1.5">
              {names.map((name) => (
                <li
                  key={name}
                  className="flex max-w-full items-center gap-1 rounded-md bg-sunken py-0.5 pr-0.5 pl-2 text-sm"
                >
                  <UserText text={name} charsMax={60} short />
                  <button
                    type="button"
                    aria-label={`Remove ${name}`}
                    className="rounded p-1 text-soft hover:bg-hover hover:text-ink"
                    onClick={() => onChange(names.filter((each) => each !== name))}
                  >
                    <X aria-hidden="true" className="size-3.5" />
                  </button>
                </li>
              ))}
            </ul>
          )}
          <div className="flex gap-2">
            <Input
              {...control}
              list={list}
              placeholder="Name, or a pattern with *"
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter') return;
                event.preventDefault();
                add();
              }}
            />
            <datalist id={list}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            <Button
              aria-label={`Add to “${label}”`}
              icon={<Plus aria-hidden="true" className="size-4" />}
              onClick={add}
            >
              Add
            </Button>
          </div>
        </>
      )}
    </Field>
  );
}

interface RenamesEditorProps {
  readonly renames: Renames;
  /** Properties found in the first records. */
  readonly names: readonly string[];
  readonly onRenames: (renames: Renames) => void;
}

/** Edits new names for properties. */
function RenamesEditor({ renames, names, onRenames: onChange }: RenamesEditorProps) {
  const list = useId();
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const isReady = from.trim() !== '' && to.trim() !== '';
  const add = (): void => {
    if (!isReady) return;
    onChange({ ...renames, [from.trim()]: to.trim() });
    setFrom('');
    setTo('');
  };
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="pb-1 text-sm font-medium">Rename properties</legend>
      {Object.entries(renames).map(([old, name]) => (
        <div key={old} className="grid grid-cols-[1fr_1fr_auto] items-center gap-2 text-sm">
          <code className="wrap-anywhere">{old}</code>
          <Input
            aria-label={`New name of ${old}`}
            value={name}
            onChange={({ target }) => onChange({ ...renames, [old]: target.value })}
          />
          <IconButton
            label={`Do not rename ${old}`}
            icon={<X aria-hidden="true" className="size-4" />}
            onClick={() => onChange(Object.fromEntries(Object.entries(renames).filter(([each]) => each !== old)))}
          />
        </div>
      ))}
      <div className="grid grid-cols-[1fr_1fr_auto] gap-2">
        <Input
          aria-label="Property to rename"
          placeholder="Old name"
          list={list}
          value={from}
          onChange={({ target }) => setFrom(target.value)}
        />
        <Input
          aria-label="New name"
          placeholder="New name"
          value={to}
          onChange={({ target }) => setTo(target.value)}
          onKeyDown={({ key }) => key === 'Enter' && add()}
        />
        <Button disabled={!isReady} icon={<Plus aria-hidden="true" className="size-4" />} onClick={add}>
          Add
        </Button>
        <datalist id={list}>
          {names.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
    </fieldset>
  );
}
