import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { dryUndo, runPath, runQuery, steerRun, type RunPlace, type UndoPlan } from './imports-query.ts';

interface UndoDialogProps {
  readonly place: RunPlace;
  readonly onClose: () => void;
}

/** Says first what taking back would do, and does it when that is what is wanted. */
export function UndoDialog({ place, onClose }: UndoDialogProps) {
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
