import { useQuery } from '@tanstack/react-query';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { eventNamesQuery, propertyNamesQuery } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { PropertyFilterBar } from './property-filter-bar.tsx';

interface EventFiltersProps {
  readonly search: EventsSearch;
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
  { kind: 'text', name: 'after', label: 'From', placeholder: 'From, such as 2026-11-20' },
  { kind: 'text', name: 'before', label: 'Before', placeholder: 'Before, such as 2026-11-21' },
];
type FilterName = 'event' | 'distinct_id' | 'period' | 'historical' | 'import_run' | 'after' | 'before';

/** Which events: all of it stands in the address. */
export function EventFilters({ search, onChange }: EventFiltersProps) {
  const { id } = useProject();
  const names = useQuery(eventNamesQuery(id));
  const properties = useQuery(propertyNamesQuery(id, search.event));
  const filters: readonly Filter<FilterName>[] = [
    { kind: 'text', name: 'event', label: 'Event', suggestions: names.data?.results.map(({ name }) => name) ?? [] },
    { kind: 'text', name: 'distinct_id', label: 'Distinct id' },
    ...choices.filter(({ name }) => search.period === undefined || (name !== 'after' && name !== 'before')),
  ];
  const { event, distinct_id, period, historical, import_run, after, before } = search;
  return (
    <>
      <FilterBar<Partial<Record<FilterName, string>>>
        filters={filters}
        values={{ event, distinct_id, period, import_run, after, before, historical: historical?.toString() }}
        onChange={(change) => {
          const { historical: kind, ...rest } = change;
          const own = 'historical' in change ? { historical: kind === undefined ? undefined : kind === 'true' } : {};
          onChange({ ...(rest as Partial<EventsSearch>), ...own });
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
