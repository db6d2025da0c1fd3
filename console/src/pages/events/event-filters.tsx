import { useQuery } from '@tanstack/react-query';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { eventNamesQuery } from '../../api/event-names.ts';
import { useProject } from '../../shell/project-context.tsx';
import { propertyNamesQuery } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import { PropertyFilterBar } from './property-filter-bar.tsx';

interface EventFiltersProps {
  readonly search: EventsSearch;
  /** Whose clocks show `after` and `before`. */
  readonly zone: string;
  /** Whether names are asked for already. */
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

/** Which events: all of it stands in the address. */
export function EventFilters({ search, zone, suggests, onChange }: EventFiltersProps) {
  const { id } = useProject();
  const names = useQuery({ ...eventNamesQuery(id), enabled: suggests });
  const properties = useQuery({ ...propertyNamesQuery(id, search.event), enabled: suggests });
  const filters: readonly Filter<FilterName>[] = [
    { kind: 'text', name: 'event', label: 'Event', suggestions: names.data?.results.map(({ name }) => name) ?? [] },
    { kind: 'text', name: 'distinct_id', label: 'Distinct id' },
    // Who comes from a person's page brings it; nobody types a uuid.
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

function timesOf(timezone: string): Filter<FilterName>[] {
  return [
    { kind: 'time', name: 'after', label: 'From', timezone },
    { kind: 'time', name: 'before', label: 'Before', timezone },
  ];
}
