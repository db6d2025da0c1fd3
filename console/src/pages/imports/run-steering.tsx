import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useToast } from '../../components/toasts.tsx';
import { useMay } from '../../shell/project-context.tsx';
import { configPath, ofCommands, runQuery, runsPath, steerRun, type Run, type RunPlace } from './imports-query.ts';
import { ChangeRulesLink, RejectedLink } from './check-held.tsx';
import { actionsOf, loadBody, type RunAction } from './run-actions.ts';
import { isHeldByCheck } from '../../components/run-state.ts';
import { UndoDialog } from './undo-dialog.tsx';

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
