import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import type { PageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { formatDuration, formatRate } from '../../components/format-number.ts';
import type { ListedRun, Run, Stage } from './imports-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RunStateBadge } from '../../components/run-state-badge.tsx';

const to = '/projects/$projectId/imports/$configId/runs/$runId';

interface RunsTableProps extends PageRows<ListedRun> {
  readonly projectId: number;
  readonly empty: ReactNode;
}

/** Runs with their progress, newest first. */
export function RunsTable({ projectId, ...props }: RunsTableProps) {
  const navigate = useNavigate();
  const columns = useMemo(() => columnsOf(projectId), [projectId]);
  return (
    <DataTable
      {...props}
      label="Import runs"
      columns={columns}
      rowId={(row) => row.id}
      onOpen={(row) => void navigate({ to, params: paramsOf(projectId, row), search: {} })}
    />
  );
}

function paramsOf(projectId: number, run: Pick<Run, 'id' | 'plugin_config'>) {
  return { projectId: String(projectId), configId: String(run.plugin_config), runId: run.id };
}

function columnsOf(projectId: number): readonly Column<ListedRun>[] {
  return [
    {
      id: 'name',
      header: 'Import',
      cell: (row) => (
        <>
          <Link to={to} params={paramsOf(projectId, row)} search={{}} className="font-medium hover:underline">
            <UserText text={row.config_name ?? row.source} charsMax={80} short />
          </Link>
          <p className="text-xs text-soft">
            {row.source}
            {row.options.limit !== null && ` · trial of ${row.options.limit.toLocaleString('en')} records`}
            {row.options.target.kind === 'http' && ' · to another service'}
          </p>
        </>
      ),
    },
    { id: 'state', header: 'State', width: '8rem', cell: (row) => <RunStateBadge run={row} /> },
    { id: 'progress', header: 'Progress', width: '11rem', cell: (row) => <RunProgress run={row} /> },
    {
      id: 'loaded',
      header: 'Loaded',
      width: '7rem',
      align: 'end',
      cell: (row) => <NumberText value={row.state === 'undone' ? 0 : row.totals.loaded} />,
    },
    {
      id: 'rejected',
      header: 'Rejected',
      width: '7rem',
      align: 'end',
      cell: (row) => (
        <span className={row.totals.rejected > 0 ? 'text-danger' : ''}>
          <NumberText value={row.totals.rejected} />
        </span>
      ),
    },
    {
      id: 'made',
      header: 'Started',
      width: '8rem',
      cell: (row) => <TimeText time={row.started_at ?? row.created_at} form="ago" />,
    },
  ];
}

/** Stage and progress of a run with rate and time left; only the duration if it has ended. */
function RunProgress({ run }: { readonly run: Run }) {
  const active = run.stages.find(({ stage }) => stage === run.stage);
  const isEnded = run.state === 'completed' || run.state === 'undone' || run.state === 'cancelled';
  if (isEnded || active === undefined) return <span className="text-soft">{durationOf(run)}</span>;
  return (
    <div className="flex flex-col gap-1">
      <span className="text-xs text-soft">
        {run.stage}, stage {run.stages.indexOf(active) + 1} of {run.stages.length}
        {run.waiting !== null && ', waiting'}
      </span>
      <ProgressBar label={`Stage ${run.stage}`} share={active.share} />
      {run.state === 'running' && <span className="text-xs text-soft tabular-nums">{speedOf(active)}</span>}
    </div>
  );
}

function speedOf({ rate, eta_seconds: eta }: Stage): string {
  const parts = [rate > 0 && formatRate(rate), eta !== null && `${formatDuration(eta * 1000)} left`];
  return parts.filter(Boolean).join(' · ');
}

function durationOf({ started_at: start, finished_at: end, stage }: Run): string {
  if (start === null || end === null) return stage;
  return `took ${formatDuration(Date.parse(end) - Date.parse(start))}`;
}
