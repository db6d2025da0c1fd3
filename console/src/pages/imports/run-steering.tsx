import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { isHeldByCheck } from '../../components/run-state-badge.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay } from '../../shell/project-context.tsx';
import { ChangeRulesLink, RejectedLink } from './check-held.tsx';
import {
  configPath,
  dryUndo,
  ofCommands,
  type Run,
  runPath,
  type RunPlace,
  runQuery,
  runsPath,
  steerRun,
  type UndoPlan,
} from './imports-query.ts';
import { actionsOf, loadBody, type RunAction } from './run-actions.ts';

const labels: Readonly<Record<Exclude<RunAction, 'skip_rejected'>, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  load: 'Load what was checked',
  load_beside: 'Load beside the earlier run',
  promote: 'Import the whole',
  retry_rejected: 'Try rejected records again',
  verify: 'Compare again',
  cancel: 'Cancel run',
  undo: 'Undo…',
};

function labelOf(action: RunAction, { totals }: Run): string {
  return action === 'skip_rejected' ? `Skip ${totals.rejected.toLocaleString('en')} rejected and load` : labels[action];
}

const done: Readonly<Record<Exclude<RunAction, 'undo'>, string>> = {
  pause: 'The run is paused.',
  resume: 'The run continues.',
  load: 'The run continues with the load.',
  skip_rejected: 'The run continues with the load.',
  load_beside: 'The run continues with the load.',
  promote: 'The whole import has begun.',
  retry_rejected: 'The rejected records are tried again.',
  verify: 'What is stored is compared once more.',
  cancel: 'The run is cancelled.',
};

/** Brings the run on; the others stop it, take it back or look at it once more. */
const forward: ReadonlySet<RunAction> = new Set(['resume', 'load', 'skip_rejected', 'load_beside', 'promote']);

/** What one may do with the run now. */
export function RunSteering({ place, run }: { readonly place: RunPlace; readonly run: Run }) {
  const steer = useSteer(place, run);
  const [asked, setAsked] = useState<'cancel' | 'undo'>();
  if (!useMay('editor')) return null;
  const actions = actionsOf(run);
  const press = (action: RunAction): void => {
    if (action === 'cancel' || action === 'undo') setAsked(action);
    else steer.mutate(action);
  };
  return (
    <>
      {actions.map((action, index) => (
        <Button
          key={action}
          kind={index === 0 && forward.has(action) ? 'primary' : 'plain'}
          busy={steer.isPending && steer.variables === action}
          onClick={() => press(action)}
        >
          {labelOf(action, run)}
        </Button>
      ))}
      {isHeldByCheck(run) && place.configId !== ofCommands && (
        <>
          <ChangeRulesLink {...place} />
          <RejectedLink place={place} rejected={run.totals.rejected} />
        </>
      )}
      <ConfirmDialog
        open={asked === 'cancel'}
        onClose={() => setAsked(undefined)}
        onConfirm={() => steer.mutate('cancel', { onSettled: () => setAsked(undefined) })}
        title="Cancel this run?"
        confirm="Cancel run"
        busy={steer.isPending}
      >
        <p>
          You cannot resume a cancelled run. The {run.totals.loaded.toLocaleString('en')} events that it has loaded stay
          {run.options.target.kind === 'project'
            ? '; Undo takes them back'
            : ', and only the other service can take them back'}
          . To continue later, pause it instead.
        </p>
      </ConfirmDialog>
      {asked === 'undo' && <UndoDialog place={place} onClose={() => setAsked(undefined)} />}
    </>
  );
}

function useSteer(place: RunPlace, run: Run) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  return useMutation({
    mutationFn: (action: Exclude<RunAction, 'undo'>) =>
      action === 'load' || action === 'skip_rejected' || action === 'load_beside'
        ? steerRun(place, 'resume', loadBody(run))
        : steerRun(place, action, action === 'resume' ? {} : undefined),
    onSuccess: async (changed, action) => {
      toast.done(done[action]);
      if (action === 'promote') {
        const params = {
          projectId: String(place.projectId),
          configId: String(place.configId),
          runId: changed.id,
        };
        await navigate({ to: '/projects/$projectId/imports/$configId/runs/$runId', params, search: {} });
      } else client.setQueryData(runQuery(place).queryKey, changed);
      await Promise.all([
        refresh(client, runsPath(place.projectId)),
        refresh(client, configPath(place.projectId, place.configId)),
      ]);
    },
    onError: (error) => toast.error(error),
  });
}

interface UndoDialogProps {
  readonly place: RunPlace;
  readonly onClose: () => void;
}

/** Says first what taking back would do, and does it when that is what is wanted. */
function UndoDialog({ place, onClose }: UndoDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const plan = useQuery({
    queryKey: [`${runPath(place)}/undo`, 'dry_run'],
    queryFn: () => dryUndo(place),
    gcTime: 0,
    staleTime: Infinity,
  });
  const undo = useMutation({
    mutationFn: () => steerRun(place, 'undo', {}),
    onSuccess: (run) => {
      client.setQueryData(runQuery(place).queryKey, run);
      toast.done('The run is being taken back.');
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Take back this run?"
      description="This is what it would do. Nothing has been changed yet."
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" disabled={plan.data === undefined} busy={undo.isPending} onClick={() => undo.mutate()}>
            Take back
            {plan.data === undefined ? '' : ` ${plan.data.events.toLocaleString('en')} events`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {plan.isPending && <Loading rows={4} label="Looking at what is stored" />}
        {plan.error !== null && <ErrorState error={plan.error} onRetry={() => void plan.refetch()} />}
        {plan.data !== undefined && <Plan plan={plan.data} />}
        <ErrorNote error={undo.error} />
      </div>
    </Dialog>
  );
}

function Plan({ plan }: { readonly plan: UndoPlan }) {
  return (
    <>
      <Facts
        facts={[
          ['Events', <NumberText key="events" value={plan.events} />],
          ['Ids of persons', <NumberText key="ids" value={plan.distinct_ids} />],
          [
            'Persons affected',
            plan.persons === null ? 'too many to count beforehand' : <NumberText key="p" value={plan.persons} />,
          ],
          ['Groups', <NumberText key="groups" value={plan.groups} />],
          ['By name', <Counted key="names" counts={plan.by_name} />],
          ['By day', <Counted key="days" counts={plan.by_day} />],
        ]}
      />
      {plan.other_runs.length > 0 && (
        <Notice tone="info">
          {plan.other_runs.length} other runs may have had the same events:{' '}
          {plan.other_runs.map(({ id, what }) => `${id} (${what.replaceAll('_', ' ')})`).join(', ')}.
        </Notice>
      )}
      {plan.exceptions.map((text) => (
        <Notice key={text} tone="warn">
          <UserText text={text} />
        </Notice>
      ))}
      <p className="text-soft">
        {plan.exceptions.length === 0 ? 'Afterwards it will be as if the run had never been. ' : ''}
        You cannot stop it halfway. You can run the import again afterwards.
      </p>
    </>
  );
}

const shownMax = 8;

function Counted({ counts }: { readonly counts: Readonly<Record<string, number>> }) {
  const entries = Object.entries(counts);
  if (entries.length === 0) return '–';
  return (
    <ul>
      {entries.slice(0, shownMax).map(([name, count]) => (
        <li key={name}>
          <UserText text={name} charsMax={80} short />: <NumberText value={count} />
        </li>
      ))}
      {entries.length > shownMax && <li className="text-soft">and {entries.length - shownMax} more</li>}
    </ul>
  );
}
