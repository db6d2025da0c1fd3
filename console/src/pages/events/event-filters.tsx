import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { eventNamesQuery } from '../../api/stored-events.ts';
import { Button } from '../../components/button.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Popover } from '../../components/popover.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { propertyNamesQuery } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { needsValue, type Operator, operators, type PropertyFilter } from '../../api/property-filter.ts';

interface EventFiltersProps {
  readonly search: EventsSearch;
  /** Time zone of `after` and `before`. */
  readonly zone: string;
  /** Whether to load suggestions. */
  readonly suggests: boolean;
  readonly onChange: (change: Partial<EventsSearch>) => void;
}

const customRange = 'custom';
const periodNames = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  [customRange]: 'Custom range…',
};
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
];
type FilterName = 'event' | 'distinct_id' | 'person_id' | 'period' | 'historical' | 'import_run' | 'after' | 'before';
type FilterValues = Partial<Record<FilterName, string>> & Pick<EventsSearch, 'properties'>;

/** The filters of the events page, all kept in the URL. */
export function EventFilters({ search, zone, suggests, onChange }: EventFiltersProps) {
  const { id } = useProject();
  const [wantsRange, setWantsRange] = useState(false);
  const names = useQuery({ ...eventNamesQuery(id), enabled: suggests });
  const properties = useQuery({ ...propertyNamesQuery(id, search.event), enabled: suggests });
  const { event, distinct_id, person_id, import_run, after, before } = search;
  const isRange = search.period === undefined && (wantsRange || after !== undefined || before !== undefined);
  const filters: readonly Filter<FilterName>[] = [
    { kind: 'text', name: 'event', label: 'Event', suggestions: names.data?.results.map(({ name }) => name) ?? [] },
    { kind: 'text', name: 'distinct_id', label: 'Distinct id' },
    // Set by links from other pages; not offered otherwise, since users do not type UUIDs.
    ...(person_id === undefined ? [] : [{ kind: 'text', name: 'person_id', label: 'Person' } as const]),
    ...(import_run === undefined ? [] : [{ kind: 'text', name: 'import_run', label: 'Import run' } as const]),
    ...choices,
    ...(isRange ? timesOf(zone) : []),
  ];
  return (
    <FilterBar<FilterValues>
      filters={filters}
      values={{
        event,
        distinct_id,
        person_id,
        import_run,
        after,
        before,
        period: isRange ? customRange : search.period,
        historical: search.historical?.toString(),
        properties: search.properties,
      }}
      others={['properties']}
      onChange={(change) => {
        if ('period' in change) setWantsRange(change.period === customRange);
        onChange(searchOf(change));
      }}
    >
      <PropertyFilters
        filters={search.properties ?? []}
        names={properties.data?.results.map(({ name }) => name) ?? []}
        onChange={(next) => onChange({ properties: next.length === 0 ? undefined : next })}
      />
    </FilterBar>
  );
}

/** A custom range has no period, and a period has no range. */
function searchOf(change: Partial<FilterValues>): Partial<EventsSearch> {
  const { historical, period, ...rest } = change;
  const times = period === customRange ? { period: undefined } : { period, after: undefined, before: undefined };
  return {
    ...rest,
    ...('historical' in change && { historical: historical === undefined ? undefined : historical === 'true' }),
    ...('period' in change && times),
  } as Partial<EventsSearch>;
}

function timesOf(timezone: string): Filter<FilterName>[] {
  return [
    { kind: 'time', name: 'after', label: 'From', timezone },
    { kind: 'time', name: 'before', label: 'Before', timezone },
  ];
}

interface PropertyFiltersProps {
  readonly filters: readonly PropertyFilter[];
  /** Suggested names; others are accepted too. */
  readonly names: readonly string[];
  readonly onChange: (filters: readonly PropertyFilter[]) => void;
}

/** Property filters as chips, combined with AND, and a button that adds one. */
function PropertyFilters({ filters, names, onChange }: PropertyFiltersProps) {
  const [open, setOpen] = useState(false);
  // Kept here, so that a popover that closes does not lose what was typed.
  const [draft, setDraft] = useState(emptyFilter);
  return (
    <>
      <Popover
        trigger={<Button icon={<Plus aria-hidden="true" className="size-4" />}>Property</Button>}
        title="Filter by property"
        open={open}
        onOpenChange={setOpen}
      >
        <AddFilter
          names={names}
          draft={draft}
          onDraft={setDraft}
          onAdd={(filter) => {
            setOpen(false);
            setDraft(emptyFilter);
            onChange([...filters, filter]);
          }}
        />
      </Popover>
      {filters.map((filter, index) => (
        <span
          key={index}
          className="inline-flex h-8 max-w-full items-center gap-1 rounded-md border border-line bg-accent-soft pl-2 text-xs"
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
    </>
  );
}

function sentenceOf({ key, operator, value }: PropertyFilter): string {
  const label = operators.find((each) => each.value === operator)?.label ?? operator;
  return needsValue(operator) ? `${key} ${label} ${value ?? ''}` : `${key} ${label}`;
}

interface FilterDraft {
  readonly key: string;
  readonly operator: Operator;
  readonly value: string;
}

const emptyFilter: FilterDraft = { key: '', operator: 'exact', value: '' };

interface AddFilterProps extends Pick<PropertyFiltersProps, 'names'> {
  readonly draft: FilterDraft;
  readonly onDraft: (draft: FilterDraft) => void;
  readonly onAdd: (filter: PropertyFilter) => void;
}

function AddFilter({ names, draft, onDraft, onAdd }: AddFilterProps) {
  const { key, operator, value } = draft;
  const isComplete = key !== '' && (!needsValue(operator) || value !== '');
  const add = (event: FormEvent): void => {
    event.preventDefault();
    if (isComplete) onAdd(needsValue(operator) ? { key, operator, value } : { key, operator });
  };
  return (
    <form onSubmit={add} className="flex flex-col gap-3">
      <TextInput
        label="Property"
        list="property-names"
        value={key}
        onChange={(next) => onDraft({ ...draft, key: next })}
      />
      <datalist id="property-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Select
        label="Operator"
        value={operator}
        choices={operators}
        onChange={(next) => onDraft({ ...draft, operator: next })}
      />
      {needsValue(operator) && (
        <TextInput label="Value" value={value} onChange={(next) => onDraft({ ...draft, value: next })} />
      )}
      <Button type="submit" kind="primary" disabled={!isComplete}>
        Add filter
      </Button>
    </form>
  );
}
