import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { BareSelect, Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { optionsOf } from './format-options.ts';
import { JsonText, parsedOrText } from './json-text.tsx';
import {
  emptyRows,
  guessRows,
  isComplete,
  isUnmapped,
  mappingOf,
  type MappingRows,
  openMapping,
  type RecordKind,
  rowsOfMapping,
  type Rule,
} from './mapping-rules.ts';

interface MappingRulesFormProps {
  readonly columns: readonly string[];
  readonly options: unknown;
  readonly onChange: (mapping: unknown) => void;
}

/** Edits the rules of the format "mapping"; shows a guess until rules are saved. */
export function MappingRulesForm({ columns, options, onChange }: MappingRulesFormProps) {
  const mapping = optionsOf(options)['mapping'] ?? JSON.stringify(openMapping);
  const isOpen = isUnmapped(options);
  const parsed = parsedOrText(mapping);
  const rows = isOpen ? guessRows(columns) : rowsOfMapping(parsed);
  const [asJson, setAsJson] = useState(false);
  if (rows === undefined || asJson) {
    return (
      <>
        <JsonText
          label="Rules as JSON"
          value={isOpen && rows !== undefined ? mappingOf(rows) : parsed}
          onChange={onChange}
        />
        {rows !== undefined && (
          <Button kind="quiet" className="self-start" onClick={() => setAsJson(false)}>
            Edit as rows
          </Button>
        )}
      </>
    );
  }
  return (
    <>
      <MappingEditor rows={rows ?? emptyRows} columns={columns} onChange={(next) => onChange(mappingOf(next))} />
      <div className="flex flex-wrap gap-2">
        {isOpen && (
          <Button kind="primary" disabled={!isComplete(rows)} onClick={() => onChange(mappingOf(rows))}>
            Use these rules
          </Button>
        )}
        <Button kind="quiet" onClick={() => setAsJson(true)}>
          Edit as JSON
        </Button>
      </div>
    </>
  );
}

interface MappingEditorProps {
  readonly rows: MappingRows;
  readonly onChange: (rows: MappingRows) => void;
  /** Columns and paths found in the records. */
  readonly columns: readonly string[];
}

const kinds = [
  { value: 'path', label: 'from column' },
  { value: 'constant', label: 'always' },
] as const;

const recordKinds = [
  { value: 'events', label: 'an event' },
  { value: 'persons', label: 'a person' },
  { value: 'groups', label: 'a group' },
] as const;

type RuleName = 'event' | 'distinct_id' | 'anonymous_id' | 'timestamp';

/** The rules of each kind of record, with their labels. */
const labels: Readonly<Record<RecordKind, Readonly<Partial<Record<RuleName, string>>>>> = {
  events: { event: 'Event', distinct_id: 'Person (distinct_id)', timestamp: 'Time' },
  persons: { distinct_id: 'Person (distinct_id)', anonymous_id: 'Other id (optional)', timestamp: 'Valid since' },
  groups: { distinct_id: 'Key of the group', timestamp: 'Valid since' },
};

const others: Readonly<Record<RecordKind, string>> = {
  events: 'All other columns become properties',
  persons: 'All other columns become properties of the person',
  groups: 'All other columns become properties of the group',
};

const stateHint =
  'Later values win over earlier ones, also over those of events. A table without a column of times takes the same time for all ' +
  'records: the day on which it was exported.';

function isRuleName(name: string): name is RuleName {
  return ['event', 'distinct_id', 'anonymous_id', 'timestamp'].includes(name);
}

/** Maps columns to event name, person, time and properties. */
function MappingEditor({ rows, onChange, columns }: MappingEditorProps) {
  const list = useId();
  const { records, timestamp, properties } = rows;
  const today = new Date().toISOString().slice(0, 10);
  return (
    <div className="flex flex-col gap-3">
      <datalist id={list}>
        {columns.map((column) => (
          <option key={column} value={column} />
        ))}
      </datalist>
      <Select
        label="Each record is"
        value={records}
        choices={recordKinds}
        onChange={(kind) => onChange(guessRows(columns, kind, today))}
        {...(records !== 'events' && { hint: stateHint })}
      />
      {records === 'groups' && (
        <TextInput
          label="Type of the group"
          placeholder="company"
          value={rows.groupType}
          onChange={(groupType) => onChange({ ...rows, groupType })}
        />
      )}
      {Object.entries(labels[records]).map(
        ([name, label]) =>
          isRuleName(name) && (
            <RuleRow
              key={name}
              label={label}
              isNeeded={name !== 'anonymous_id'}
              rule={rows[name]}
              list={list}
              onChange={(rule) => onChange({ ...rows, [name]: { ...rows[name], ...rule } })}
            />
          ),
      )}
      <TimeFields timestamp={timestamp} onChange={(next) => onChange({ ...rows, timestamp: next })} />
      <Checkbox
        label={others[records]}
        checked={properties === undefined}
        onChange={(all) => onChange({ ...rows, properties: all ? undefined : [{ name: '', path: '' }] })}
      />
      {properties !== undefined && (
        <PropertyRows rows={properties} list={list} onChange={(next) => onChange({ ...rows, properties: next })} />
      )}
      {records === 'persons' && (
        <Checkbox
          label="Keep values that a person already has ($set_once)"
          checked={rows.keepsValues}
          onChange={(keepsValues) => onChange({ ...rows, keepsValues })}
        />
      )}
    </div>
  );
}

interface TimeFieldsProps {
  readonly timestamp: MappingRows['timestamp'];
  readonly onChange: (timestamp: MappingRows['timestamp']) => void;
}

function TimeFields({ timestamp, onChange }: TimeFieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextInput
        label="Time format"
        placeholder="detect automatically"
        hint="iso, s, ms, us, ns, or a pattern such as dd.MM.yyyy HH:mm:ss"
        value={timestamp.format}
        onChange={(format) => onChange({ ...timestamp, format })}
      />
      <TextInput
        label="Time zone of times without one"
        placeholder="UTC"
        value={timestamp.zone}
        onChange={(zone) => onChange({ ...timestamp, zone })}
      />
    </div>
  );
}

interface RuleRowProps {
  readonly label: string;
  readonly isNeeded: boolean;
  readonly rule: Rule;
  readonly list: string;
  readonly onChange: (rule: Rule) => void;
}

function RuleRow({ label, isNeeded, rule, list, onChange }: RuleRowProps) {
  return (
    <div className="grid items-center gap-2 sm:grid-cols-[11rem_9rem_1fr]">
      <span className="text-sm font-medium">
        {label} {isNeeded && <span className="text-danger">*</span>}
      </span>
      <BareSelect
        aria-label={`${label}: source`}
        value={rule.kind}
        choices={kinds}
        onChange={(kind) => onChange({ kind, value: rule.value })}
      />
      <Input
        aria-label={label}
        value={rule.value}
        placeholder={rule.kind === 'path' ? 'user.id, or {a}-{b}' : 'the same value for every record'}
        {...(rule.kind === 'path' && { list })}
        onChange={({ target }) => onChange({ kind: rule.kind, value: target.value })}
      />
    </div>
  );
}

type Properties = NonNullable<MappingRows['properties']>;

interface PropertyRowsProps {
  readonly rows: Properties;
  readonly list: string;
  readonly onChange: (rows: Properties) => void;
}

function PropertyRows({ rows, list, onChange }: PropertyRowsProps) {
  const change = (at: number, row: Partial<Properties[number]>): void =>
    onChange(rows.map((each, index) => (index === at ? { ...each, ...row } : each)));
  return (
    <div className="flex flex-col gap-2">
      {rows.map(({ name, path }, index) => (
        <div key={index} className="flex gap-2">
          <Input
            aria-label={`Property ${index + 1}`}
            placeholder="Property"
            value={name}
            onChange={({ target }) => change(index, { name: target.value })}
          />
          <Input
            aria-label={`Column of property ${index + 1}`}
            placeholder="Column"
            list={list}
            value={path}
            onChange={({ target }) => change(index, { path: target.value, ...(name === '' && { name: target.value }) })}
          />
          <IconButton
            label={`Remove property ${index + 1}`}
            icon={<X aria-hidden="true" className="size-4" />}
            onClick={() => onChange(rows.filter((_row, at) => at !== index))}
          />
        </div>
      ))}
      <div>
        <Button
          size="small"
          icon={<Plus aria-hidden="true" className="size-3.5" />}
          onClick={() => onChange([...rows, { name: '', path: '' }])}
        >
          Add property
        </Button>
      </div>
    </div>
  );
}
