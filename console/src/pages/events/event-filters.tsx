import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { eventNamesQuery } from '../../api/stored-events.ts';
import { Button } from '../../components/button.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Input } from '../../components/input.tsx';
import { BareSelect } from '../../components/select.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { propertyNamesQuery } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { needsValue, type Operator, operators, type PropertyFilter } from './property-filter.ts';

interface EventFiltersProps {
  readonly search: EventsSearch;
  /** Time zone of `after` and `before`. */
  readonly zone: string;
  /** Whether to load suggestions. */
  readonly suggests: boolean;
  readonly onChange: (change: Partial<EventsSearch>) => void;
}

const periodNames = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days' };
const choices: readonly Filter<FilterName>[] = [
  {
    kind: 'choice',
    name: 'period',
    label: 'Any time',
    choices: Object.entries(periodNames).map(([value, label]) => ({ value, label })),
  },
  {
    kind: 'choice',
    name: 'historical',
    label: 'Live and historical',
    choices: [
      { value: 'false', label: 'Live only' },
      { value: 'true', label: 'Historical only' },
    ],
  },
  { kind: 'text', name: 'import_run', label: 'Import run' },
];
type FilterName = 'event' | 'distinct_id' | 'person_id' | 'period' | 'historical' | 'import_run' | 'after' | 'before';

/** The filters of the events page, all kept in the URL. */
export function EventFilters({ search, zone, suggests, onChange }: EventFiltersProps) {
  const { id } = useProject();
  const names = useQuery({ ...eventNamesQuery(id), enabled: suggests });
  const properties = useQuery({ ...propertyNamesQuery(id, search.event), enabled: suggests });
  const filters: readonly Filter<FilterName>[] = [
    { kind: 'text', name: 'event', label: 'Event', suggestions: names.data?.results.map(({ name }) => name) ?? [] },
    { kind: 'text', name: 'distinct_id', label: 'Distinct id' },
    // Set by links from a person's page; not offered otherwise, since users do not type UUIDs.
    ...(search.person_id === undefined ? [] : [{ kind: 'text', name: 'person_id', label: 'Person' } as const]),
    ...choices,
    ...(search.period === undefined ? timesOf(zone) : []),
  ];
  const { event, distinct_id, person_id, period, historical, import_run, after, before } = search;
  return (
    <>
      <FilterBar<Partial<Record<FilterName, string>>>
        filters={filters}
        values={{
          event,
          distinct_id,
          person_id,
          period,
          import_run,
          after,
          before,
          historical: historical?.toString(),
        }}
        onChange={(change) => {
          const { historical: kind, ...rest } = change;
          const historicalChange =
            'historical' in change ? { historical: kind === undefined ? undefined : kind === 'true' } : {};
          onChange({ ...(rest as Partial<EventsSearch>), ...historicalChange });
        }}
      />
      <PropertyFilterBar
        filters={search.properties ?? []}
        names={properties.data?.results.map(({ name }) => name) ?? []}
        onChange={(next) => onChange({ properties: next.length === 0 ? undefined : next })}
      />
    </>
  );
}

function timesOf(timezone: string): Filter<FilterName>[] {
  return [
    { kind: 'time', name: 'after', label: 'From', timezone },
    { kind: 'time', name: 'before', label: 'Before', timezone },
  ];
}

interface PropertyFilterBarProps {
  readonly filters: readonly PropertyFilter[];
  /** Suggested names; others are accepted too. */
  readonly names: readonly string[];
  readonly onChange: (filters: readonly PropertyFilter[]) => void;
}

/** Property filters, combined with AND, and a form that adds one. */
function PropertyFilterBar({ filters, names, onChange }: PropertyFilterBarProps) {
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
            label={`Remove filter on ${filter.key}`}
            size="small"
            icon={<X aria-hidden="true" className="size-3.5" />}
            onClick={() => onChange(filters.filter((_each, at) => at !== index))}
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
  const isComplete = key !== '' && (!needsValue(operator) || value !== '');
  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (!isComplete) return;
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
      <Button type="submit" disabled={!isComplete} icon={<Plus aria-hidden="true" className="size-4" />}>
        Add filter
      </Button>
    </form>
  );
}
