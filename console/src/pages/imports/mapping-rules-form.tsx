import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Checkbox } from '../../components/checkbox.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { BareSelect } from '../../components/select.tsx';
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

const labels = { event: 'Event', distinct_id: 'Person (distinct_id)', timestamp: 'Time' } as const;

/** Maps columns to event name, person, time and properties. */
function MappingEditor({ rows, onChange, columns }: MappingEditorProps) {
  const list = useId();
  const { timestamp, properties } = rows;
  return (
    <div className="flex flex-col gap-3">
      <datalist id={list}>
        {columns.map((column) => (
          <option key={column} value={column} />
        ))}
      </datalist>
      {(['event', 'distinct_id', 'timestamp'] as const).map((name) => (
        <RuleRow
          key={name}
          label={labels[name]}
          rule={rows[name]}
          list={list}
          onChange={(rule) => onChange({ ...rows, [name]: { ...rows[name], ...rule } })}
        />
      ))}
      <div className="grid gap-3 sm:grid-cols-2">
        <TextInput
          label="Time format"
          placeholder="detect automatically"
          hint="iso, s, ms, us, ns, or a pattern such as dd.MM.yyyy HH:mm:ss"
          value={timestamp.format}
          onChange={(format) => onChange({ ...rows, timestamp: { ...timestamp, format } })}
        />
        <TextInput
          label="Time zone of times without one"
          placeholder="UTC"
          value={timestamp.zone}
          onChange={(zone) => onChange({ ...rows, timestamp: { ...timestamp, zone } })}
        />
      </div>
      <Checkbox
        label="All other columns become properties"
        checked={properties === undefined}
        onChange={(all) => onChange({ ...rows, properties: all ? undefined : [{ name: '', path: '' }] })}
      />
      {properties !== undefined && (
        <PropertyRows rows={properties} list={list} onChange={(next) => onChange({ ...rows, properties: next })} />
      )}
    </div>
  );
}

interface RuleRowProps {
  readonly label: string;
  readonly rule: Rule;
  readonly list: string;
  readonly onChange: (rule: Rule) => void;
}

function RuleRow({ label, rule, list, onChange }: RuleRowProps) {
  return (
    <div className="grid items-center gap-2 sm:grid-cols-[11rem_9rem_1fr]">
      <span className="text-sm font-medium">
        {label} <span className="text-danger">*</span>
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
