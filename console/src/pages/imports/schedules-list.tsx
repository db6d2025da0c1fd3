import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { useToast } from '../../components/toasts.tsx';
import { usePageRows } from '../../components/use-page-rows.ts';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { runsPath } from './imports-query.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';
import {
  deleteSchedule,
  pauseSchedule,
  runSchedule,
  schedulesPath,
  schedulesQuery,
  type Schedule,
} from './schedules-query.ts';
import { SchedulesTable, type ScheduleDeed } from './schedules-table.tsx';

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
