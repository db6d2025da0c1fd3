import { BareSelect } from '../../components/select.tsx';
import { Button } from '../../components/button.tsx';
import { Input } from '../../components/input.tsx';
import { typeChoices, type PropertyRow } from './plan-form.ts';

interface PropertiesTableProps {
  readonly rows: readonly PropertyRow[];
  readonly disabled: boolean;
  readonly onChange: (rows: readonly PropertyRow[]) => void;
}

const added: PropertyRow = { name: '', type: 'string', isNullable: false, isRequired: false, values: '', schema: {} };

/** The properties of an event as a form, one group of fields each. */
export function PropertiesTable({ rows, disabled, onChange }: PropertiesTableProps) {
  const change = (at: number, more: Partial<PropertyRow>): void =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...more } : row)));
  return (
    <div className="flex flex-col gap-3">
      {rows.length === 0 && <p className="text-sm text-soft">No properties: every property is permitted.</p>}
      {rows.map((row, at) => (
        <PropertyFields
          key={at}
          row={row}
          number={at + 1}
          disabled={disabled}
          onChange={(more) => change(at, more)}
          onRemove={() => onChange(rows.filter((_, index) => index !== at))}
        />
      ))}
      {!disabled && (
        <div>
          <Button size="small" onClick={() => onChange([...rows, added])}>
            Add property
          </Button>
        </div>
      )}
    </div>
  );
}

interface PropertyFieldsProps {
  readonly row: PropertyRow;
  readonly number: number;
  readonly disabled: boolean;
  readonly onChange: (more: Partial<PropertyRow>) => void;
  readonly onRemove: () => void;
}

function PropertyFields({ row, number, disabled, onChange, onRemove }: PropertyFieldsProps) {
  const { name, type, values } = row;
  const choices = typeChoices
    .filter((value) => value !== 'several' || type === 'several')
    .map((value) => ({ value, label: value }));
  return (
    <fieldset className="flex flex-col gap-2 rounded-md border border-line p-2">
      <legend className="sr-only">Property {number}</legend>
      <div className="grid items-center gap-2 sm:grid-cols-[2fr_1fr_auto]">
        <Input
          aria-label={`Name of property ${number}`}
          value={name}
          maxLength={200}
          disabled={disabled}
          placeholder="Name"
          onChange={(event) => onChange({ name: event.target.value })}
        />
        <BareSelect
          aria-label={`Type of property ${number}`}
          value={type}
          choices={choices}
          disabled={disabled}
          onChange={(next) => onChange({ type: next })}
        />
        {!disabled && (
          <Button size="small" kind="quiet" onClick={onRemove}>
            <span aria-hidden="true">Remove</span>
            <span className="sr-only">Remove property {number}</span>
          </Button>
        )}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Flag
          label="required"
          of={number}
          checked={row.isRequired}
          disabled={disabled}
          onChange={(isRequired) => onChange({ isRequired })}
        />
        <Flag
          label="or null"
          of={number}
          checked={row.isNullable}
          disabled={disabled || type === 'any' || type === 'several'}
          onChange={(isNullable) => onChange({ isNullable })}
        />
        <div className="min-w-48 flex-1">
          <Input
            aria-label={`Allowed values of property ${number}`}
            value={values ?? 'see JSON Schema'}
            disabled={disabled || values === null || type !== 'string'}
            placeholder="Allowed values, separated by commas"
            onChange={(event) => onChange({ values: event.target.value })}
          />
        </div>
      </div>
    </fieldset>
  );
}

interface FlagProps {
  readonly label: string;
  /** Number of the property. */
  readonly of: number;
  readonly checked: boolean;
  readonly disabled: boolean;
  readonly onChange: (checked: boolean) => void;
}

function Flag({ label, of, checked, disabled, onChange }: FlagProps) {
  return (
    <label className="flex items-center gap-1.5 text-sm">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
      <span className="sr-only"> (property {of})</span>
    </label>
  );
}
