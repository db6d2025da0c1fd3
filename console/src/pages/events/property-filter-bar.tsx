import { Plus, X } from 'lucide-react';
import { useState, type FormEvent } from 'react';
import { Button } from '../../components/button.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { BareSelect } from '../../components/select.tsx';
import { UserText } from '../../components/user-text.tsx';
import { needsValue, operators, type Operator, type PropertyFilter } from './property-filter.ts';

interface PropertyFilterBarProps {
  readonly filters: readonly PropertyFilter[];
  /** Names to choose from; others may be typed. */
  readonly names: readonly string[];
  readonly onChange: (filters: readonly PropertyFilter[]) => void;
}

/** Conditions on properties, all of which must hold, and a line that adds one. */
export function PropertyFilterBar({ filters, names, onChange }: PropertyFilterBarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 pb-3">
      <AddFilter names={names} onAdd={(filter) => onChange([...filters, filter])} />
      {filters.map((filter, index) => (
        <span
          key={index}
          className="inline-flex max-w-full items-center gap-1 rounded-md border border-line bg-accent-soft pl-2 text-xs"
        >
          <UserText text={sentenceOf(filter)} charsMax={80} short />
          <IconButton
            label={`Remove the condition on ${filter.key}`}
            size="small"
            icon={<X aria-hidden="true" className="size-3.5" />}
            onClick={() => onChange(filters.filter((_each, place) => place !== index))}
          />
        </span>
      ))}
    </div>
  );
}

function sentenceOf({ key, operator, value }: PropertyFilter): string {
  const label = operators.find((each) => each.value === operator)?.label ?? operator;
  return needsValue(operator) ? `${key} ${label} ${value ?? ''}` : `${key} ${label}`;
}

function AddFilter({
  names,
  onAdd,
}: Pick<PropertyFilterBarProps, 'names'> & { onAdd: (filter: PropertyFilter) => void }) {
  const [key, setKey] = useState('');
  const [operator, setOperator] = useState<Operator>('exact');
  const [value, setValue] = useState('');
  const isWhole = key !== '' && (!needsValue(operator) || value !== '');
  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (!isWhole) return;
    onAdd(needsValue(operator) ? { key, operator, value } : { key, operator });
    setKey('');
    setValue('');
  };
  return (
    <form onSubmit={add} className="flex flex-wrap items-center gap-2">
      <span className="w-44">
        <Input
          aria-label="Property"
          placeholder="Property"
          list="property-names"
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
        <datalist id="property-names">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </span>
      <span className="w-36">
        <BareSelect aria-label="Operator" value={operator} choices={operators} onChange={setOperator} />
      </span>
      {needsValue(operator) && (
        <span className="w-44">
          <Input
            aria-label="Value"
            placeholder="Value"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        </span>
      )}
      <Button type="submit" disabled={!isWhole} icon={<Plus aria-hidden="true" className="size-4" />}>
        Add condition
      </Button>
    </form>
  );
}
