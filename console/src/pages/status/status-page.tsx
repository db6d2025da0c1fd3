import { useQuery } from '@tanstack/react-query';
import { formatBytes } from '../../components/format-number.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useMay } from '../../shell/project-context.tsx';
import { ErrorsSection } from './errors-section.tsx';
import { LanesSection } from './lanes-section.tsx';
import { PartsSection } from './parts-section.tsx';
import { ProcessesSection } from './processes-section.tsx';
import { statusQuery, type Status } from './status-query.ts';

const pollMs = 3_000;
const tones = { ok: 'ok', degraded: 'warn', unavailable: 'danger' } as const;

/** How the whole service is. */
export function StatusPage() {
  const isAdmin = useMay('admin');
  const status = useQuery({ ...statusQuery, enabled: isAdmin, refetchInterval: pollMs });
  const { data, error } = status;
  return (
    <>
      <PageHeader
        title="Status"
        description="The whole service, all projects together."
        actions={data && <StatusBadge tone={tones[data.status]}>{data.status}</StatusBadge>}
      />
      {!isAdmin && (
        <EmptyState title="Only admins see this">Ask an admin of your organisation for the role.</EmptyState>
      )}
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void status.refetch()} />}
      {isAdmin && data === undefined && error === null && <Loading rows={10} label="Loading the status" />}
      {data !== undefined && <StatusSections status={data} />}
    </>
  );
}

function StatusSections({ status }: { readonly status: Status }) {
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 lg:grid-cols-2">
        <LanesSection lanes={status.lanes} />
        <PartsSection parts={status.parts} />
        {status.processes.length > 1 && <ProcessesSection processes={status.processes} />}
        <MachineSection status={status} />
        <WorkSection status={status} />
      </div>
      <ErrorsSection errors={status.errors} />
    </div>
  );
}

function MachineSection({ status }: { readonly status: Status }) {
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
            status.store.kind === 'embedded' ? `embedded, restarted ${status.store.restarts} times` : 'ClickHouse',
          ],
          ['Metadata', status.metadata === 'sqlite' ? 'SQLite' : 'PostgreSQL'],
        ]}
      />
    </Section>
  );
}

function WorkSection({ status }: { readonly status: Status }) {
  const { imports, plugin_processes: processes } = status;
  const states = Object.entries(imports.by_state).map(([state, count]) => `${count} ${state}`);
  return (
    <Section title="Imports and plugins">
      <Facts
        facts={[
          ['Import runs', states.length === 0 ? 'none' : states.join(', ')],
          ['Waiting for something', <NumberText key="waiting" value={imports.waiting} />],
          ['Longest standstill', <NumberText key="stalled" value={imports.stalled_seconds * 1000} unit="ms" />],
          ...processes.map(
            (process) =>
              [
                `Plugins of ${process.thread}`,
                `${process.instances} loaded, ${formatBytes(process.memory_bytes)}, restarted ${process.restarts} times`,
              ] as const,
          ),
        ]}
      />
    </Section>
  );
}
