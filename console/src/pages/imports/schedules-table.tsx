import { Link } from '@tanstack/react-router';
import { Ellipsis } from 'lucide-react';
import { useMemo, type ReactNode } from 'react';
import { DataTable, type Column } from '../../components/data-table.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import type { PageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { spanText, timingText } from './schedule-form.ts';
import type { Schedule } from './schedules-query.ts';

export type ScheduleDeed = 'edit' | 'pause' | 'resume' | 'run' | 'delete';

interface SchedulesTableProps extends PageRows<Schedule> {
  readonly projectId: number;
  /** Undefined: only looked at. */
  readonly onDeed: ((deed: ScheduleDeed, schedule: Schedule) => void) | undefined;
  readonly empty: ReactNode;
}

export function SchedulesTable({ projectId, onDeed, ...props }: SchedulesTableProps) {
  const columns = useMemo(() => columnsOf(projectId, onDeed), [projectId, onDeed]);
  return <DataTable {...props} label="Schedules" columns={columns} rowId={(row) => String(row.plugin_config)} />;
}

function columnsOf(projectId: number, onDeed: SchedulesTableProps['onDeed']): readonly Column<Schedule>[] {
  const shown: readonly Column<Schedule>[] = [
    { id: 'import', header: 'Import', cell: (row) => <ImportCell projectId={projectId} row={row} /> },
    {
      id: 'when',
      header: 'When',
      width: '9rem',
      cell: (row) => (
        <>
          {timingText(row)}
          <p className="text-xs text-soft">overlap {spanText(row.overlap_minutes)}</p>
        </>
      ),
    },
    { id: 'state', header: 'State', width: '7rem', cell: (row) => <State row={row} /> },
    {
      id: 'next',
      header: 'Next run',
      width: '11rem',
      sortBy: (row) => row.next_at,
      cell: (row) =>
        row.next_at === null ? <span className="text-soft">when resumed</span> : <TimeText time={row.next_at} />,
    },
    { id: 'last', header: 'Last run', width: '9rem', cell: (row) => <LastRun projectId={projectId} row={row} /> },
    {
      id: 'covered',
      header: 'Imported up to',
      width: '11rem',
      sortBy: (row) => row.covered_to,
      cell: (row) => <TimeText time={row.covered_to} />,
    },
  ];
  return onDeed === undefined ? shown : [...shown, deedsColumn(onDeed)];
}

function ImportCell({ projectId, row }: { readonly projectId: number; readonly row: Schedule }) {
  const config = String(row.plugin_config);
  return (
    <>
      <Link
        to="/projects/$projectId/imports/$configId"
        params={{ projectId: String(projectId), configId: config }}
        className="inline-flex min-h-6 items-center font-medium hover:underline"
      >
        <UserText text={row.config_name} charsMax={80} short />
      </Link>
      <p className="text-xs">
        <Link
          to="/projects/$projectId/imports"
          params={{ projectId: String(projectId) }}
          search={{ config }}
          className="inline-flex min-h-6 items-center text-soft underline"
        >
          Runs
        </Link>
      </p>
      {row.error !== '' && (
        <p className="text-xs text-danger">
          <UserText text={row.error} charsMax={200} />
        </p>
      )}
    </>
  );
}

/** What holds it up comes first. */
function State({ row }: { readonly row: Schedule }) {
  if (row.paused) return <StatusBadge tone="warn">paused</StatusBadge>;
  if (row.error !== '') return <StatusBadge tone="danger">failing</StatusBadge>;
  if (row.run === null) return <StatusBadge tone="ok">on</StatusBadge>;
  return <StatusBadge tone={row.run_state === 'paused' ? 'warn' : 'info'}>{`run ${row.run_state ?? ''}`}</StatusBadge>;
}

function LastRun({ projectId, row }: { readonly projectId: number; readonly row: Schedule }) {
  const { last_run: run } = row;
  if (run === null) return <span className="text-soft">none yet</span>;
  const params = { projectId: String(projectId), configId: String(row.plugin_config), runId: run.id };
  return (
    <>
      <Link to="/projects/$projectId/imports/$configId/runs/$runId" params={params} search={{}} className="underline">
        {run.state}
      </Link>
      <p className="text-xs text-soft">
        <TimeText time={run.created_at} form="ago" />
      </p>
    </>
  );
}

function deedsColumn(onDeed: (deed: ScheduleDeed, schedule: Schedule) => void): Column<Schedule> {
  return {
    id: 'deeds',
    header: <span className="sr-only">Deeds</span>,
    width: '3.5rem',
    cell: (row) => (
      <Menu
        trigger={
          <IconButton
            label={`Deeds of the schedule of ${row.config_name.slice(0, 60)}`}
            size="small"
            icon={<Ellipsis aria-hidden="true" className="size-4" />}
          />
        }
        groups={[
          [
            { label: 'Edit', onSelect: () => onDeed('edit', row) },
            row.paused
              ? { label: 'Resume', onSelect: () => onDeed('resume', row) }
              : { label: 'Pause', onSelect: () => onDeed('pause', row) },
            { label: 'Run now', disabled: row.run !== null, onSelect: () => onDeed('run', row) },
          ],
          [{ label: 'Delete', danger: true, onSelect: () => onDeed('delete', row) }],
        ]}
      />
    ),
  };
}
