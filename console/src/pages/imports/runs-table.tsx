import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import type { PageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { counted, formatDuration, formatRate } from '../../components/format-number.ts';
import { type ListedRun, type Run, sourcesQuery } from './imports-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { durationMs, runProgress } from '../../components/run-progress.ts';
import { isUnfinished, RunStateBadge } from '../../components/run-state-badge.tsx';

const to = '/projects/$projectId/imports/$configId/runs/$runId';

interface RunsTableProps extends PageRows<ListedRun> {
  readonly projectId: number;
  readonly empty: ReactNode;
}

/** Runs with their progress, newest first. */
export function RunsTable({ projectId, ...props }: RunsTableProps) {
  const navigate = useNavigate();
  const sources = useQuery(sourcesQuery(projectId)).data?.results;
  const columns = useMemo(
    () => columnsOf(projectId, new Map(sources?.map(({ slug, name }) => [slug, name]))),
    [projectId, sources],
  );
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

function columnsOf(projectId: number, sources: ReadonlyMap<string, string>): readonly Column<ListedRun>[] {
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
            {sources.get(row.source) ?? row.source}
            {row.options.format !== null && ` · ${row.options.format}`}
            {row.options.limit !== null && ` · trial of ${counted(row.options.limit, 'record')}`}
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

/** The active step and the progress of the whole run; only the duration if it has ended. */
function RunProgress({ run }: { readonly run: Run }) {
  const progress = runProgress(run);
  if (!isUnfinished(run.state) || progress === undefined) {
    const ms = durationMs(run);
    return <span className="text-soft">{ms === undefined ? '–' : `took ${formatDuration(ms)}`}</span>;
  }
  const { name, step, steps, share, rate, leftMs } = progress;
  const facts = [rate > 0 && formatRate(rate), leftMs !== undefined && `${formatDuration(leftMs)} left`];
  return (
    <div className="flex flex-col gap-1 text-xs text-soft tabular-nums">
      <span>
        {name}, step {step} of {steps}
        {run.waiting !== null && ', waiting'}
      </span>
      <ProgressBar label="Whole run" share={share} />
      {run.state === 'running' && <span>{facts.filter(Boolean).join(' · ')}</span>}
    </div>
  );
}
