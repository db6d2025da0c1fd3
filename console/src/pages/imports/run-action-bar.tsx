import { counted } from '../../components/format-number.ts';
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
import { useHasRole } from '../../shell/project-context.tsx';
import { ChangeRulesLink, RejectedLink } from './check-problems.tsx';
import {
  configPath,
  dryUndo,
  commandLineConfigId,
  type Run,
  runPath,
  type RunIds,
  runQuery,
  runsPath,
  controlRun,
  type UndoPlan,
} from './imports-query.ts';
import { actionsOf, loadBody, type RunAction } from './run-actions.ts';

const labels: Readonly<Record<Exclude<RunAction, 'skip_rejected'>, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  load: 'Load checked events',
  load_in_addition: 'Load in addition to the earlier run',
  promote: 'Import everything',
  retry_rejected: 'Retry rejected records',
  verify: 'Verify again',
  cancel: 'Cancel run',
  undo: 'Undo…',
};

function labelOf(action: RunAction, { totals }: Run): string {
  return action === 'skip_rejected' ? `Skip ${totals.rejected.toLocaleString('en')} rejected and load` : labels[action];
}

const done: Readonly<Record<Exclude<RunAction, 'undo'>, string>> = {
  pause: 'Run paused.',
  resume: 'Run resumed.',
  load: 'Load started.',
  skip_rejected: 'Load started.',
  load_in_addition: 'Load started.',
  promote: 'Import of all records started.',
  retry_rejected: 'Retry of rejected records started.',
  verify: 'Verification started.',
  cancel: 'Run cancelled.',
};

/** Actions that continue the run, shown as primary. */
const continuing: ReadonlySet<RunAction> = new Set(['resume', 'load', 'skip_rejected', 'load_in_addition', 'promote']);

/** The actions that are available for the run now. */
export function RunActionBar({ ids, run }: { readonly ids: RunIds; readonly run: Run }) {
  const steer = useRunAction(ids, run);
  const [pending, setPending] = useState<'cancel' | 'undo'>();
  if (!useHasRole('editor')) return null;
  const actions = actionsOf(run);
  const press = (action: RunAction): void => {
    if (action === 'cancel' || action === 'undo') setPending(action);
    else steer.mutate(action);
  };
  return (
    <>
      {actions.map((action, index) => (
        <Button
          key={action}
          kind={index === 0 && continuing.has(action) ? 'primary' : 'plain'}
          busy={steer.isPending && steer.variables === action}
          onClick={() => press(action)}
        >
          {labelOf(action, run)}
        </Button>
      ))}
      {isHeldByCheck(run) && ids.configId !== commandLineConfigId && (
        <>
          <ChangeRulesLink {...ids} />
          <RejectedLink ids={ids} rejected={run.totals.rejected} />
        </>
      )}
      <ConfirmDialog
        open={pending === 'cancel'}
        onClose={() => setPending(undefined)}
        onConfirm={() => steer.mutate('cancel', { onSettled: () => setPending(undefined) })}
        title="Cancel this run?"
        confirm="Cancel run"
        busy={steer.isPending}
      >
        <p>
          You cannot resume a cancelled run.{' '}
          {counted(run.totals.loaded, 'event loaded so far is', 'events loaded so far are')} kept
          {run.options.target.kind === 'project'
            ? '; use Undo to remove them'
            : ' and can only be removed in the other service'}
          . To continue later, pause the run instead.
        </p>
      </ConfirmDialog>
      {pending === 'undo' && <UndoDialog ids={ids} onClose={() => setPending(undefined)} />}
    </>
  );
}

function useRunAction(ids: RunIds, run: Run) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  return useMutation({
    mutationFn: (action: Exclude<RunAction, 'undo'>) =>
      action === 'load' || action === 'skip_rejected' || action === 'load_in_addition'
        ? controlRun(ids, 'resume', loadBody(run))
        : controlRun(ids, action, action === 'resume' ? {} : undefined),
    onSuccess: async (changed, action) => {
      toast.done(done[action]);
      if (action === 'promote') {
        const params = {
          projectId: String(ids.projectId),
          configId: String(ids.configId),
          runId: changed.id,
        };
        await navigate({ to: '/projects/$projectId/imports/$configId/runs/$runId', params, search: {} });
      } else client.setQueryData(runQuery(ids).queryKey, changed);
      await Promise.all([
        refresh(client, runsPath(ids.projectId)),
        refresh(client, configPath(ids.projectId, ids.configId)),
      ]);
    },
    onError: (error) => toast.error(error),
  });
}

interface UndoDialogProps {
  readonly ids: RunIds;
  readonly onClose: () => void;
}

/** Shows what an undo would do, and starts it after confirmation. */
function UndoDialog({ ids, onClose }: UndoDialogProps) {
  const client = useQueryClient();
  const toast = useToast();
  const plan = useQuery({
    queryKey: [`${runPath(ids)}/undo`, 'dry_run'],
    queryFn: () => dryUndo(ids),
    gcTime: 0,
    staleTime: Infinity,
  });
  const undo = useMutation({
    mutationFn: () => controlRun(ids, 'undo', {}),
    onSuccess: (run) => {
      client.setQueryData(runQuery(ids).queryKey, run);
      toast.done('Undo started.');
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Undo this run?"
      description="This is a preview. Nothing has been changed yet."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" disabled={plan.data === undefined} busy={undo.isPending} onClick={() => undo.mutate()}>
            Undo
            {plan.data === undefined ? '' : ` ${counted(plan.data.events, 'event')}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {plan.isPending && <Loading rows={4} label="Preparing the preview" />}
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
          ['Distinct ids', <NumberText key="ids" value={plan.distinct_ids} />],
          [
            'Persons affected',
            plan.persons === null ? 'too many to count in advance' : <NumberText key="p" value={plan.persons} />,
          ],
          ['Groups', <NumberText key="groups" value={plan.groups} />],
          ['By name', <Counted key="names" counts={plan.by_name} />],
          ['By day', <Counted key="days" counts={plan.by_day} />],
        ]}
      />
      {plan.other_runs.length > 0 && (
        <Notice tone="info">
          {plan.other_runs.length === 1 ? 'Another run' : `${plan.other_runs.length} other runs`} may contain the same
          events: {plan.other_runs.map(({ id, what }) => `${id} (${what.replaceAll('_', ' ')})`).join(', ')}.
        </Notice>
      )}
      {plan.exceptions.map((text) => (
        <Notice key={text} tone="warn">
          <UserText text={text} />
        </Notice>
      ))}
      <p className="text-soft">
        {plan.exceptions.length === 0 ? 'The undo removes everything this run stored. ' : ''}
        It cannot be cancelled once started. You can run the import again afterwards.
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
