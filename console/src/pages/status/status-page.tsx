import { useQuery } from '@tanstack/react-query';
import type { LaneStatus, ServiceStatus } from '../../../../src/wire/contract/status.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { counted, formatBytes } from '../../components/format-number.ts';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole } from '../../shell/project-context.tsx';
import { serviceStatusQuery } from '../../api/status.ts';

const pollMs = 3_000;
const tones = { ok: 'ok', degraded: 'warn', unavailable: 'danger' } as const;

/** The state of the whole service. */
export function StatusPage() {
  const isAdmin = useHasRole('admin');
  const status = useQuery({ ...serviceStatusQuery, enabled: isAdmin, refetchInterval: pollMs });
  const { data, error } = status;
  return (
    <>
      <PageHeader
        title="Status"
        description="State of the service across all projects."
        actions={data && <StatusBadge tone={tones[data.status]}>{data.status}</StatusBadge>}
      />
      {!isAdmin && (
        <EmptyState title="Admins only">Ask an administrator of your organisation for the admin role.</EmptyState>
      )}
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void status.refetch()} />}
      {isAdmin && data === undefined && error === null && <Loading rows={10} label="Loading status" />}
      {data !== undefined && <StatusSections status={data} />}
    </>
  );
}

function StatusSections({ status }: { readonly status: ServiceStatus }) {
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 lg:grid-cols-2">
        <LanesSection lanes={status.lanes} />
        <ComponentsSection parts={status.parts} />
        {status.processes.length > 1 && <ProcessesSection processes={status.processes} />}
        <MachineSection status={status} />
        <WorkSection status={status} />
      </div>
      <ErrorsSection errors={status.errors} />
    </div>
  );
}

function MachineSection({ status }: { readonly status: ServiceStatus }) {
  const { disk } = status;
  return (
    <Section title="Service">
      <Facts
        facts={[
          ['Version', `${status.version}, Node.js ${status.node}`],
          ['Started', <TimeText key="started" time={status.started_at} form="ago" />],
          ['Memory', <NumberText key="memory" value={status.memory_bytes} unit="bytes" />],
          ['Disk', `${formatBytes(disk.free_bytes)} free of ${formatBytes(disk.total_bytes)}`],
          [
            'Event store',
            status.store.kind === 'embedded'
              ? `embedded, restarted ${counted(status.store.restarts, 'time')}`
              : 'ClickHouse',
          ],
          ['Metadata', status.metadata === 'sqlite' ? 'SQLite' : 'PostgreSQL'],
        ]}
      />
    </Section>
  );
}

function WorkSection({ status }: { readonly status: ServiceStatus }) {
  const { imports, plugin_processes: processes } = status;
  const states = Object.entries(imports.by_state).map(([state, count]) => `${count} ${state}`);
  return (
    <Section title="Imports and plugins">
      <Facts
        facts={[
          ['Import runs', states.length === 0 ? 'none' : states.join(', ')],
          ['Waiting runs', <NumberText key="waiting" value={imports.waiting} />],
          ['Longest stall', <NumberText key="stalled" value={imports.stalled_seconds * 1000} unit="ms" />],
          ...processes.map(
            (process) =>
              [
                `Plugins of ${process.thread}`,
                `${process.instances} loaded, ${formatBytes(process.memory_bytes)}, restarted ${counted(process.restarts, 'time')}`,
              ] as const,
          ),
        ]}
      />
    </Section>
  );
}

interface LanesSectionProps {
  readonly lanes: { readonly live: LaneStatus; readonly historical: LaneStatus };
}

const rows = [
  ['Received', (lane: LaneStatus) => <NumberText value={lane.received_per_second} unit="per_second" />],
  ['Stored', (lane: LaneStatus) => <NumberText value={lane.stored_per_second} unit="per_second" />],
  ['Backlog, events', (lane: LaneStatus) => <NumberText value={lane.waiting_events} />],
  ['Backlog, bytes', (lane: LaneStatus) => <NumberText value={lane.waiting_bytes} unit="bytes" />],
  ['Oldest waiting', (lane: LaneStatus) => <NumberText value={lane.oldest_seconds * 1000} unit="ms" />],
  ['Lag from receipt to storage', (lane: LaneStatus) => <NumberText value={lane.lag_seconds * 1000} unit="ms" />],
] as const;

/** The live and the historical lane. */
function LanesSection({ lanes }: LanesSectionProps) {
  return (
    <Section title="Lanes" description="Events of all projects. Rates are one-minute averages." flush>
      <table className="w-full text-sm">
        <thead>
          <tr className="border-b border-line text-left text-xs text-soft">
            <td className="px-4 py-2" />
            {(['live', 'historical'] as const).map((name) => (
              <th key={name} scope="col" className="px-4 py-2 text-right font-medium">
                {name === 'live' ? 'Live' : 'Historical'}{' '}
                {lanes[name].is_full && <StatusBadge tone="danger">full</StatusBadge>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map(([label, value]) => (
            <tr key={label}>
              <th scope="row" className="px-4 py-2 text-left font-normal text-soft">
                {label}
              </th>
              <td className="px-4 py-2 text-right whitespace-nowrap tabular-nums">{value(lanes.live)}</td>
              <td className="px-4 py-2 text-right whitespace-nowrap tabular-nums">{value(lanes.historical)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

/** The components of the service, unhealthy ones first. */
function ComponentsSection({ parts }: { readonly parts: ServiceStatus['parts'] }) {
  const sorted = parts.toSorted((a, b) => Number(a.ok) - Number(b.ok) || a.name.localeCompare(b.name));
  return (
    <Section title="Components" flush>
      <ul className="divide-y divide-line">
        {sorted.map((part) => (
          <li key={part.name} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
            <ComponentBadge part={part} />
            <span className="text-sm font-medium">{part.name.replaceAll('_', ' ')}</span>
            <span className="min-w-0 text-xs text-soft">
              <UserText text={part.detail} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function ComponentBadge({ part }: { readonly part: ServiceStatus['parts'][number] }) {
  if (part.ok) return <StatusBadge tone="ok">ok</StatusBadge>;
  return <StatusBadge tone={part.required ? 'danger' : 'warn'}>{part.required ? 'down' : 'degraded'}</StatusBadge>;
}

/** Processes report every two seconds; one that is silent for longer than this has probably ended. */
const silentSecondsMax = 10;

/** The processes and their roles, if roles are split. */
function ProcessesSection({ processes }: { readonly processes: ServiceStatus['processes'] }) {
  return (
    <Section title="Processes" flush>
      <ul className="divide-y divide-line">
        {processes.map((process) => (
          <li key={process.name} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-4 py-2">
            {process.silent_seconds > silentSecondsMax ? (
              <StatusBadge tone="danger">silent</StatusBadge>
            ) : (
              <StatusBadge tone="ok">ok</StatusBadge>
            )}
            <span className="text-sm font-medium">{process.roles.join(', ')}</span>
            <span className="min-w-0 text-xs text-soft">
              {process.name}, version {process.version}, started <TimeText time={process.started_at} form="ago" />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type ErrorCount = ServiceStatus['errors'][number];

const columns: readonly Column<ErrorCount>[] = [
  { id: 'component', header: 'Component', sortBy: (row) => row.component, cell: (row) => row.component },
  { id: 'type', header: 'Error', sortBy: (row) => row.error_type, cell: (row) => <code>{row.error_type}</code> },
  {
    id: 'minute',
    header: 'Last minute',
    align: 'end',
    width: '8rem',
    sortBy: (row) => row.last_minute,
    cell: (row) => <NumberText value={row.last_minute} />,
  },
  {
    id: 'total',
    header: 'Since start',
    align: 'end',
    width: '9rem',
    sortBy: (row) => row.total,
    cell: (row) => <NumberText value={row.total} />,
  },
];

function ErrorsSection({ errors }: { readonly errors: readonly ErrorCount[] }) {
  return (
    <section aria-label="Errors" className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">Errors</h2>
      <DataTable
        label="Errors"
        columns={columns}
        rows={errors}
        rowId={(row) => `${row.component} ${row.error_type}`}
        empty={<EmptyState title="No errors since the service started" />}
      />
    </section>
  );
}
