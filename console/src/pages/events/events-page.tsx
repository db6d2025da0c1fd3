import { counted } from '../../components/format-number.ts';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Download, RefreshCw } from 'lucide-react';
import { useMemo, useState } from 'react';
import { eventPages, type StoredEvent } from '../../api/stored-events.ts';
import { Button } from '../../components/button.tsx';
import { ColumnChooser } from '../../components/column-chooser.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { eventColumns } from '../../components/event-columns.tsx';
import { EventPanel } from '../../components/event-panel.tsx';
import { Menu } from '../../components/menu.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { saveFile, toCsv } from '../../components/save-file.ts';
import { BareSelect } from '../../components/select.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { useProject } from '../../shell/project-context.tsx';
import { EventFilters } from './event-filters.tsx';
import { filterOf, intervalOf, propertyNamesQuery } from './events-query.ts';
import type { EventsSearch } from './events-search.ts';
import type { Query } from '../../api/request.ts';
import { VolumeChart } from './volume-chart.tsx';

const route = getRouteApi('/projects/$projectId/events');

/** Stored events with filters, columns, volume chart, details and export. */
export function EventsPage() {
  const { id, timezone } = useProject();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<EventsSearch>, replace = true): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace });
  const [now, setNow] = useState(Date.now);
  const filter = useMemo(() => filterOf(search, now), [search, now]);
  const pages = useInfiniteQuery(eventPages(id, filter));
  const table = usePageRows(pages);
  // Rows load first; the chart and suggestions query the same store afterwards.
  const isListed = pages.isFetched;
  const zone = zoneOf(search.zone, timezone);
  const columnsKey = JSON.stringify(search.columns ?? []);
  const columns = useMemo(
    () =>
      eventColumns({
        projectId: id,
        properties: JSON.parse(columnsKey) as string[],
        zone,
        open: (event) => void navigate({ search: (before) => ({ ...before, uuid: event.id }) }),
      }),
    [id, columnsKey, zone, navigate],
  );
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <>
      <PageHeader
        title="Events"
        description="Stored events, newest first, without duplicates."
        actions={<ExportMenu rows={table.rows ?? []} search={search} filter={filter} />}
      />
      <EventFilters search={search} zone={zone} suggests={isListed} onChange={change} />
      <VolumeChart
        projectId={id}
        filter={filter}
        interval={intervalOf(search, now)}
        zone={zone}
        counts={isListed}
        now={now}
        onRange={(times) => change(times, false)}
      />
      <Toolbar
        search={search}
        suggests={isListed}
        onChange={change}
        isRefreshing={pages.isRefetching}
        onRefresh={() => {
          setNow(Date.now());
          void pages.refetch();
        }}
      />
      <DataTable
        label="Events"
        columns={columns}
        {...table}
        rowId={(event) => event.id}
        onOpen={(event) => change({ uuid: event.id }, false)}
        {...(search.uuid === undefined ? {} : { openId: search.uuid })}
        empty={<NoEvents filtered={isFiltered} />}
      />
      <EventPanel
        uuid={search.uuid}
        known={table.rows?.find((event) => event.id === search.uuid)}
        zone={zone}
        onClose={() => change({ uuid: undefined }, false)}
      />
    </>
  );
}

interface ToolbarProps {
  readonly search: EventsSearch;
  /** Whether to load suggestions. */
  readonly suggests: boolean;
  readonly onChange: (change: Partial<EventsSearch>) => void;
  readonly isRefreshing: boolean;
  readonly onRefresh: () => void;
}

/** Options of the table. */
function Toolbar({ search, suggests, onChange, isRefreshing, onRefresh }: ToolbarProps) {
  const { id, timezone } = useProject();
  const names = useQuery({ ...propertyNamesQuery(id, search.event), enabled: suggests });
  return (
    <div className="flex flex-wrap items-center justify-end gap-2 py-3">
      <ZoneSelect value={search.zone} projectZone={timezone} onChange={(next) => onChange({ zone: next })} />
      <ColumnChooser
        chosen={search.columns ?? []}
        names={names.data?.results.map(({ name }) => name) ?? []}
        note="With none selected, one column shows all properties."
        onChange={(next) => onChange({ columns: next.length === 0 ? undefined : next })}
      />
      <Button icon={<RefreshCw aria-hidden="true" className="size-4" />} busy={isRefreshing} onClick={onRefresh}>
        Refresh
      </Button>
    </div>
  );
}

function zoneOf(choice: EventsSearch['zone'], projectZone: string): string {
  if (choice === 'utc') return 'UTC';
  return choice === 'browser' ? new Intl.DateTimeFormat().resolvedOptions().timeZone : projectZone;
}

interface ZoneSelectProps {
  readonly value?: 'project' | EventsSearch['zone'];
  readonly projectZone: string;
  readonly onChange: (zone: EventsSearch['zone']) => void;
}

function ZoneSelect({ value = 'project', projectZone, onChange }: ZoneSelectProps) {
  const choices = [
    { value: 'project', label: `Times in ${projectZone}` },
    { value: 'utc', label: 'Times in UTC' },
    { value: 'browser', label: 'Times in browser time zone' },
  ] as const;
  return (
    <span className="w-56">
      <BareSelect
        aria-label="Time zone"
        value={value}
        choices={choices}
        onChange={(next) => onChange(next === 'project' ? undefined : next)}
      />
    </span>
  );
}

interface ExportMenuProps {
  readonly rows: readonly StoredEvent[];
  readonly search: EventsSearch;
  readonly filter: Query;
}

/** Saves the rows of the table, or passes the filter to the page of exports, where a period is its first time. */
function ExportMenu({ rows, search, filter: { after, before } }: ExportMenuProps) {
  const navigate = route.useNavigate();
  const { event, distinct_id, person_id, historical, import_run, properties } = search;
  const times = { after: after?.toString(), before: before?.toString() };
  const wanted = { event, distinct_id, person_id, ...times, historical, import_run, properties };
  const onExportAll = (): void => void navigate({ to: '/projects/$projectId/exports', search: wanted });
  return (
    <Menu
      trigger={
        <Button disabled={rows.length === 0} icon={<Download aria-hidden="true" className="size-4" />}>
          Export
        </Button>
      }
      heading={<p className="text-xs text-soft">{counted(rows.length, 'event')} loaded in the table</p>}
      groups={[
        [
          { label: 'NDJSON', onSelect: () => saveFile('events.ndjson', 'application/x-ndjson', toNdjson(rows)) },
          { label: 'CSV', onSelect: () => saveFile('events.csv', 'text/csv', csvOf(rows)) },
        ],
        [{ label: 'All matching events…', onSelect: onExportAll }],
      ]}
    />
  );
}

function NoEvents({ filtered }: { readonly filtered: boolean }) {
  if (filtered) return <EmptyState title="No matching events">Clear a filter or choose a longer period.</EmptyState>;
  return (
    <EmptyState title="No events yet">See Home for sample code that sends an event, or import your history.</EmptyState>
  );
}

/** Writes one event per line in the format of the API, with every digit of large integers. */
function toNdjson(events: readonly StoredEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** Writes events as CSV, with a column for every property found. */
function csvOf(events: readonly StoredEvent[]): string {
  const names = [...new Set(events.flatMap(({ properties }) => Object.keys(properties)))].sort();
  const head = ['uuid', 'event', 'distinct_id', 'timestamp', 'historical_migration', ...names];
  const lines = events.map((event) => [
    event.id,
    event.event,
    event.distinct_id,
    event.timestamp,
    event.historical_migration,
    ...names.map((name) => event.properties[name]),
  ]);
  return toCsv([head, ...lines]);
}
