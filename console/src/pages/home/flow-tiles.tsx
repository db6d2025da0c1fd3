import { useQuery } from '@tanstack/react-query';
import type { LaneStatus, ProjectStatus } from '../../../../src/wire/contract/status.ts';
import { formatBytes, formatDuration } from '../../components/format-number.ts';
import { NumberText } from '../../components/number-text.tsx';
import { useMay } from '../../shell/project-context.tsx';
import { serviceStatusQuery } from './home-query.ts';
import { StatTile } from '../../components/stat-tile.tsx';

const pollMs = 5_000;

/** What flows now: rates of the project, and what waits in the whole service. */
export function FlowTiles({ status }: { readonly status: ProjectStatus | undefined }) {
  const isAdmin = useMay('admin');
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <StatTile
        label="Live events"
        value={<NumberText value={status?.received_per_second.live} unit="per_second" />}
        note="received, mean of a minute"
      />
      <StatTile
        label="Historical events"
        value={<NumberText value={status?.received_per_second.historical} unit="per_second" />}
        note="received, mean of a minute"
      />
      <StatTile
        label="Waiting to be stored"
        value={
          <NumberText value={status && status.lanes.live.waiting_events + status.lanes.historical.waiting_events} />
        }
        note={status && lagText(status.lanes.live, status.lanes.historical)}
      />
      {isAdmin ? <DiskTile /> : <StatTile label="Service" value={status?.status ?? '–'} />}
    </dl>
  );
}

function DiskTile() {
  const { data } = useQuery({ ...serviceStatusQuery, refetchInterval: pollMs });
  const used = data && data.disk.total_bytes - data.disk.free_bytes;
  return (
    <StatTile
      label="Disk free"
      value={<NumberText value={data?.disk.free_bytes} unit="bytes" />}
      note={data && used !== undefined && `${formatBytes(used)} of ${formatBytes(data.disk.total_bytes)} used`}
    />
  );
}

function lagText(live: LaneStatus, historical: LaneStatus): string {
  if (live.is_full || historical.is_full) return 'full: new events are refused';
  const oldest = Math.max(live.oldest_seconds, historical.oldest_seconds);
  if (oldest > 0) return `the oldest for ${formatDuration(oldest * 1000)}`;
  return 'nothing is late';
}
