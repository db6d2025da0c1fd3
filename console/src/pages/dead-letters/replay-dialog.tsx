import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import {
  cancelReplay,
  dryRun,
  lettersPath,
  replayQuery,
  startReplay,
  type DryRunResult,
  type LetterFilter,
  type Replay,
} from './dead-letters-query.ts';

interface ReplayDialogProps {
  readonly filter: LetterFilter;
  readonly onClose: () => void;
}

const pollMs = 500;

/** Replays all matching open dead letters: shows a dry run, then the progress. The replay continues when the dialog is closed. */
export function ReplayDialog({ filter, onClose }: ReplayDialogProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const preview = useQuery({
    queryKey: ['dry run of a replay', projectId, filter],
    queryFn: () => dryRun(projectId, { filter }),
    gcTime: 0,
  });
  const start = useMutation({ mutationFn: () => startReplay(projectId, { filter }) });
  const id = start.data?.id;
  const progress = useQuery({
    ...replayQuery(projectId, id ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (isEnded(state.data) ? false : pollMs),
  });
  const cancel = useMutation({ mutationFn: () => cancelReplay(projectId, id ?? '') });
  const replay = progress.data ?? start.data;
  const ended = isEnded(replay);
  useEffect(() => {
    if (ended) void refresh(client, lettersPath(projectId));
  }, [ended, client, projectId]);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Replay all matching"
      description="Events that are valid now are stored; the others stay open."
      footer={
        replay === undefined ? (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button
              kind="primary"
              busy={start.isPending}
              disabled={(preview.data?.matched ?? 0) === 0}
              onClick={() => start.mutate()}
            >
              {preview.data === undefined ? 'Replay' : `Replay ${preview.data.matched.toLocaleString('en')}`}
            </Button>
          </>
        ) : (
          <>
            {!ended && (
              <Button busy={cancel.isPending} onClick={() => cancel.mutate()}>
                Stop
              </Button>
            )}
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3 text-sm">
        {replay === undefined && preview.isPending && <Loading rows={3} label="Running the dry run" />}
        {replay === undefined && preview.data !== undefined && <DryRunSummary result={preview.data} />}
        {replay !== undefined && <Progress replay={replay} />}
        <ErrorNote error={start.error ?? preview.error ?? cancel.error} />
      </div>
    </Dialog>
  );
}

function isEnded(replay: Replay | undefined): boolean {
  return replay?.state === 'done' || replay?.state === 'cancelled';
}

function DryRunSummary({ result }: { readonly result: DryRunResult }) {
  const { matched, examined, stored, dropped, refused, results } = result;
  if (matched === 0) return <Notice tone="info">No matching open dead letters.</Notice>;
  const first = results.find(({ outcome }) => outcome === 'refused');
  return (
    <>
      <p>
        {matched.toLocaleString('en')} match. Dry run of {examined === matched ? 'all' : `the oldest ${examined}`}:{' '}
        {stored} would be stored, {dropped} dropped by a transformation, {refused} still refused.
      </p>
      {first?.detail !== null && first?.detail !== undefined && (
        <Notice tone="warn">
          First refusal: <UserText text={first.detail} />
        </Notice>
      )}
    </>
  );
}

function Progress({ replay }: { readonly replay: Replay }) {
  const { matched, replayed, failed, remaining, state, failures, error } = replay;
  return (
    <>
      <progress
        aria-label="Replayed"
        className="h-2 w-full accent-accent"
        value={matched - remaining}
        max={Math.max(1, matched)}
      />
      <p role="status">
        {state === 'done' ? 'Done: ' : ''}
        {replayed.toLocaleString('en')} replayed, {failed.toLocaleString('en')} still refused
        {remaining > 0 && `, ${remaining.toLocaleString('en')} remaining`}.
      </p>
      {error !== '' && (
        <Notice tone="warn">
          <UserText text={error} />
        </Notice>
      )}
      {failures.map(({ code, detail, count }) => (
        <Notice key={code} tone="danger">
          {count.toLocaleString('en')} × <code>{code}</code>: <UserText text={detail} />
        </Notice>
      ))}
    </>
  );
}
