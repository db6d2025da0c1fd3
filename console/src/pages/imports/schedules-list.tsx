import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Ellipsis } from 'lucide-react';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Loading } from '../../components/loading.tsx';
import { Menu } from '../../components/menu.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { type PageRows, usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import {
  deleteSchedule,
  pauseSchedule,
  runSchedule,
  runsPath,
  type Schedule,
  schedulesPath,
  schedulesQuery,
} from './imports-query.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { spanText, timingText } from './schedule-form.ts';

const route = getRouteApi('/projects/$projectId/imports');
const pollMs = 5_000;

/** Schedules of imports. The URL contains the open form: `new`, or the id of the import. */
export function SchedulesList() {
  const { id } = useProject();
  const canEdit = useHasRole('editor');
  const { set } = route.useSearch();
  const navigate = route.useNavigate();
  const schedules = useInfiniteQuery({ ...schedulesQuery(id), refetchInterval: pollMs });
  const table = usePageRows(schedules);
  const [deleting, setDeleting] = useState<Schedule>();
  const perform = useScheduleActions();
  const open = useCallback(
    (what: string | undefined) => void navigate({ search: { tab: 'schedules', ...(what && { set: what }) } }),
    [navigate],
  );
  const onAction = useCallback(
    (action: ScheduleAction, schedule: Schedule): void => {
      if (action === 'edit') open(String(schedule.plugin_config));
      else if (action === 'delete') setDeleting(schedule);
      else perform(action, schedule);
    },
    [open, perform],
  );
  const { rows } = table;
  const taken = useMemo(() => new Set(rows?.map((row) => row.plugin_config)), [rows]);
  const edited = rows?.find((row) => String(row.plugin_config) === set);
  const add = canEdit && <Button onClick={() => open('new')}>New schedule</Button>;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex justify-end">{add}</div>
      <SchedulesTable
        projectId={id}
        {...table}
        onAction={canEdit ? onAction : undefined}
        empty={
          <EmptyState title="No schedules">
            A schedule runs an import every few minutes or once a day and imports what is new.
          </EmptyState>
        }
      />
      {canEdit && set !== undefined && rows === undefined && <Loading rows={1} />}
      {canEdit && rows !== undefined && (set === 'new' || edited !== undefined) && (
        <ScheduleDialog key={set} schedule={edited} taken={taken} onClose={() => open(undefined)} />
      )}
      {deleting !== undefined && <DeleteDialog schedule={deleting} onClose={() => setDeleting(undefined)} />}
    </div>
  );
}

/** Returns a function that pauses, resumes or runs a schedule; pause and resume offer an undo. */
function useScheduleActions(): (action: 'pause' | 'resume' | 'run', schedule: Schedule) => void {
  const { id } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const { mutate: pause } = useMutation({
    mutationFn: ({ config, paused }: { readonly config: number; readonly paused: boolean }) =>
      pauseSchedule(id, config, paused),
    onSuccess: () => refresh(client, schedulesPath(id)),
    onError: toast.error,
  });
  const { mutate: run } = useMutation({
    mutationFn: (config: number) => runSchedule(id, config),
    onSuccess: async () => {
      toast.done('Run queued.');
      await Promise.all([refresh(client, schedulesPath(id)), refresh(client, runsPath(id))]);
    },
    onError: toast.error,
  });
  return useCallback(
    (action, { plugin_config: config }) => {
      if (action === 'run') return run(config);
      const paused = action === 'pause';
      const done = paused ? 'Schedule paused.' : 'Schedule resumed.';
      const undo = (): void => pause({ config, paused: !paused });
      pause({ config, paused }, { onSuccess: () => toast.done(done, undo) });
    },
    [pause, run, toast],
  );
}

function DeleteDialog({ schedule, onClose }: { readonly schedule: Schedule; readonly onClose: () => void }) {
  const { id } = useProject();
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteSchedule(id, schedule.plugin_config),
    onSuccess: async () => {
      onClose();
      await refresh(client, schedulesPath(id));
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      title="Delete this schedule?"
      confirm="Delete schedule"
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        <UserText text={schedule.config_name} charsMax={80} short /> will no longer run automatically, and its progress
        is deleted. Imported events are kept, and a current run continues.
      </p>
    </ConfirmDialog>
  );
}

type ScheduleAction = 'edit' | 'pause' | 'resume' | 'run' | 'delete';

interface SchedulesTableProps extends PageRows<Schedule> {
  readonly projectId: number;
  /** `undefined` without permission to edit. */
  readonly onAction: ((action: ScheduleAction, schedule: Schedule) => void) | undefined;
  readonly empty: ReactNode;
}

function SchedulesTable({ projectId, onAction, ...props }: SchedulesTableProps) {
  const columns = useMemo(() => columnsOf(projectId, onAction), [projectId, onAction]);
  return <DataTable {...props} label="Schedules" columns={columns} rowId={(row) => String(row.plugin_config)} />;
}

function columnsOf(projectId: number, onAction: SchedulesTableProps['onAction']): readonly Column<Schedule>[] {
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
  return onAction === undefined ? shown : [...shown, actionsColumn(onAction)];
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

/** The state of a schedule; problems take precedence. */
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

function actionsColumn(onAction: (action: ScheduleAction, schedule: Schedule) => void): Column<Schedule> {
  return {
    id: 'actions',
    header: <span className="sr-only">Actions</span>,
    width: '3.5rem',
    cell: (row) => (
      <Menu
        trigger={
          <IconButton
            label={`Actions for ${row.config_name.slice(0, 60)}`}
            size="small"
            icon={<Ellipsis aria-hidden="true" className="size-4" />}
          />
        }
        groups={[
          [
            { label: 'Edit', onSelect: () => onAction('edit', row) },
            row.paused
              ? { label: 'Resume', onSelect: () => onAction('resume', row) }
              : { label: 'Pause', onSelect: () => onAction('pause', row) },
            { label: 'Run now', disabled: row.run !== null, onSelect: () => onAction('run', row) },
          ],
          [{ label: 'Delete', danger: true, onSelect: () => onAction('delete', row) }],
        ]}
      />
    ),
  };
}
