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
import { useMay, useProject } from '../../shell/project-context.tsx';
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

/** Imports that run by themselves. The one that is set stands in the address: `new`, or the id of its import. */
export function SchedulesList() {
  const { id } = useProject();
  const mayEdit = useMay('editor');
  const { set } = route.useSearch();
  const navigate = route.useNavigate();
  const schedules = useInfiniteQuery({ ...schedulesQuery(id), refetchInterval: pollMs });
  const table = usePageRows(schedules);
  const [doomed, setDoomed] = useState<Schedule>();
  const steer = useSteering();
  const open = useCallback(
    (what: string | undefined) => void navigate({ search: { tab: 'schedules', ...(what && { set: what }) } }),
    [navigate],
  );
  const onDeed = useCallback(
    (deed: ScheduleDeed, schedule: Schedule): void => {
      if (deed === 'edit') open(String(schedule.plugin_config));
      else if (deed === 'delete') setDoomed(schedule);
      else steer(deed, schedule);
    },
    [open, steer],
  );
  const { rows } = table;
  const taken = useMemo(() => new Set(rows?.map((row) => row.plugin_config)), [rows]);
  const edited = rows?.find((row) => String(row.plugin_config) === set);
  const add = mayEdit && <Button onClick={() => open('new')}>New schedule</Button>;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex justify-end">{add}</div>
      <SchedulesTable
        projectId={id}
        {...table}
        onDeed={mayEdit ? onDeed : undefined}
        empty={
          <EmptyState title="Nothing runs by itself">
            With a schedule an import brings what is new, every few minutes or once a day.
          </EmptyState>
        }
      />
      {mayEdit && set !== undefined && rows === undefined && <Loading rows={1} />}
      {mayEdit && rows !== undefined && (set === 'new' || edited !== undefined) && (
        <ScheduleDialog key={set} schedule={edited} taken={taken} onClose={() => open(undefined)} />
      )}
      {doomed !== undefined && <DeleteDialog schedule={doomed} onClose={() => setDoomed(undefined)} />}
    </div>
  );
}

/** What is done at once, and taken back by the toast where that is possible. */
function useSteering(): (deed: 'pause' | 'resume' | 'run', schedule: Schedule) => void {
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
      toast.done('The run is queued.');
      await Promise.all([refresh(client, schedulesPath(id)), refresh(client, runsPath(id))]);
    },
    onError: toast.error,
  });
  return useCallback(
    (deed, { plugin_config: config }) => {
      if (deed === 'run') return run(config);
      const paused = deed === 'pause';
      const done = paused ? 'Paused: it starts no runs.' : 'It starts runs again.';
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
      title="Delete the schedule?"
      confirm="Delete schedule"
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        <UserText text={schedule.config_name} charsMax={80} short /> runs no more by itself, and how far it had come is
        forgotten. What was imported stays, and a run that is under way goes on.
      </p>
    </ConfirmDialog>
  );
}

type ScheduleDeed = 'edit' | 'pause' | 'resume' | 'run' | 'delete';

interface SchedulesTableProps extends PageRows<Schedule> {
  readonly projectId: number;
  /** Undefined: only looked at. */
  readonly onDeed: ((deed: ScheduleDeed, schedule: Schedule) => void) | undefined;
  readonly empty: ReactNode;
}

function SchedulesTable({ projectId, onDeed, ...props }: SchedulesTableProps) {
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
