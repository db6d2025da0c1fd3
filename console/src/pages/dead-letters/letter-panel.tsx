import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { refresh } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import {
  discard,
  dryRunOne,
  type DryRunOneResult,
  letterQuery,
  lettersPath,
  replayOne,
  type WholeDeadLetter,
} from './dead-letters-query.ts';
import { indentJson, readEdited } from './edited-event.ts';

interface LetterPanelProps {
  readonly id: string | undefined;
  readonly onClose: () => void;
}

/** One dead letter: its reason, an editor for its event, dry run, replay and discard. */
export function LetterPanel({ id, onClose }: LetterPanelProps) {
  const project = useProject();
  const letter = useQuery({ ...letterQuery(project.id, id ?? ''), enabled: id !== undefined });
  if (id === undefined) return null;
  const { data, error } = letter;
  return (
    <SidePanel
      open
      onClose={onClose}
      title={<UserText text={data?.event === '' ? '(no name)' : (data?.event ?? 'Dead letter')} />}
      description={data && <UserText text={data.detail} />}
    >
      {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void letter.refetch()} />}
      {data === undefined && error === null && <Loading rows={6} label="Loading dead letter" />}
      {data !== undefined && <LetterFacts letter={data} />}
      {data !== undefined && <LetterEvent key={data.id} letter={data} onDone={onClose} />}
    </SidePanel>
  );
}

function LetterFacts({ letter }: { readonly letter: WholeDeadLetter }) {
  return (
    <Facts
      facts={[
        ['Reason', <code key="reason">{letter.reason}</code>],
        ['Field', letter.attr === null ? '–' : <UserText key="field" text={letter.attr} />],
        [
          'distinct_id',
          letter.distinct_id === null || letter.distinct_id === '' ? (
            '–'
          ) : (
            <UserText key="id" text={letter.distinct_id} />
          ),
        ],
        ['Received', <TimeText key="received" time={letter.received_at} form="exact" />],
        ['Lane', letter.lane],
        ['State', letter.state],
      ]}
    />
  );
}

interface LetterEventProps {
  readonly letter: WholeDeadLetter;
  readonly onDone: () => void;
}

function LetterEvent({ letter, onDone }: LetterEventProps) {
  const canEdit = useHasRole('editor');
  if (letter.state !== 'open' || !canEdit || letter.original_encoding === 'base64') {
    return (
      <>
        {letter.original_encoding === 'base64' && (
          <Notice tone="info">
            The original is not text. It is shown in base64 and can only be replayed unchanged.
          </Notice>
        )}
        <h3 className="text-sm font-semibold">Original</h3>
        <CodeBlock code={letter.original} label="Copy original" />
      </>
    );
  }
  return <LetterEditor letter={letter} onDone={onDone} />;
}

function LetterEditor({ letter, onDone }: LetterEventProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const indented = useMemo(() => indentJson(letter.original), [letter.original]);
  const [text, setText] = useState(indented);
  const [pending, setPending] = useState(false);
  const edited = readEdited(text, indented);
  const json = edited.kind === 'ready' ? edited.json : undefined;
  const finish = async (message: string): Promise<void> => {
    toast.done(message);
    onDone();
    await refresh(client, lettersPath(projectId));
  };
  const dryRun = useMutation({ mutationFn: () => dryRunOne(projectId, letter.id, json) });
  const replay = useMutation({
    mutationFn: () => replayOne(projectId, letter.id, json),
    onSuccess: () => finish('Replayed. The event will be stored shortly.'),
  });
  const discardOne = useMutation({
    mutationFn: () => discard(projectId, { ids: [letter.id] }),
    onSuccess: () => finish('Discarded.'),
  });
  const invalid = edited.kind === 'invalid';
  return (
    <div className="flex flex-col gap-3">
      <h3 className="text-sm font-semibold">Event</h3>
      <CodeEditor
        label="Event"
        language="json"
        value={text}
        onChange={(next) => {
          setText(next);
          dryRun.reset();
          replay.reset();
        }}
        height="18rem"
      />
      {invalid && <Notice tone="danger">{edited.reason}</Notice>}
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" busy={replay.isPending} disabled={invalid} onClick={() => replay.mutate()}>
          {json === undefined ? 'Replay' : 'Replay corrected event'}
        </Button>
        <Button busy={dryRun.isPending} disabled={invalid} onClick={() => dryRun.mutate()}>
          Dry run
        </Button>
        <Button kind="quiet" onClick={() => setPending(true)}>
          Discard
        </Button>
      </div>
      <ErrorNote error={replay.error ?? dryRun.error} />
      {dryRun.data !== undefined && <DryRunOutcome result={dryRun.data} />}
      <ConfirmDialog
        open={pending}
        onClose={() => setPending(false)}
        onConfirm={() => discardOne.mutate()}
        title="Discard this event?"
        confirm="Discard"
        busy={discardOne.isPending}
        error={discardOne.error}
      >
        <p>It is not stored and can no longer be replayed. You can still read the dead letter under Discarded.</p>
      </ConfirmDialog>
    </div>
  );
}

const tones = { stored: 'ok', dropped: 'warn', refused: 'danger' } as const;
const sentences = {
  stored: 'The event would be stored.',
  dropped: 'A transformation would drop the event.',
  refused: 'The event would still be refused.',
} as const;

/** The outcome of a dry run of one dead letter. */
function DryRunOutcome({ result }: { readonly result: DryRunOneResult }) {
  const { outcome, detail, chain } = result;
  return (
    <div role="status" className="flex flex-col gap-3">
      <Notice tone={tones[outcome]}>
        {sentences[outcome]} {detail !== null && <UserText text={detail} />}
      </Notice>
      {chain !== null && chain.steps.length > 0 && (
        <JsonDiff before={chain.before} after={chain.after} beforeLabel="As sent" afterLabel="After transformations" />
      )}
    </div>
  );
}
