import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { EventReplayStart, ReplayMethod } from '../../../../src/wire/contract/event-replays.ts';
import { refresh } from '../../api/queries.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { EventSelectionFields } from '../../components/event-selection-fields.tsx';
import { everyEvent, selectionOf, type SelectionDraft } from '../../components/event-selection.ts';
import { NumberText } from '../../components/number-text.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { Section } from '../../components/section.tsx';
import { Select } from '../../components/select.tsx';
import { TextInput } from '../../components/text-input.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { cancelReplay, type EventReplay, replaysPath, replaysQuery, startReplay } from './replay-queries.ts';

interface ReplayTabProps {
  readonly configId: number;
  readonly enabled: boolean;
  readonly methods: readonly ReplayMethod[];
}

const pollMs = 1000;

/** Passes stored events to the plugin again, and shows earlier replays. */
export function ReplayTab({ configId, enabled, methods }: ReplayTabProps) {
  const { id: projectId } = useProject();
  const canEdit = useHasRole('editor');
  const replays = useQuery({
    ...replaysQuery(projectId),
    select: ({ results }) => results.filter(({ request }) => request.plugin_config === configId),
    refetchInterval: ({ state }) => (state.data?.results.some(isOpen) === true ? pollMs : false),
  });
  return (
    <div className="flex flex-col gap-4">
      {canEdit && <StartForm configId={configId} enabled={enabled} methods={methods} />}
      <Section title="All replays" flush>
        <DataTable
          label="Replays"
          columns={columns}
          rows={replays.data}
          rowId={({ id }) => id}
          error={replays.error}
          onRetry={() => void replays.refetch()}
          empty={<EmptyState title="No replays">Stored events were not passed to this plugin again.</EmptyState>}
        />
      </Section>
    </div>
  );
}

interface Draft {
  readonly method: ReplayMethod;
  readonly selection: SelectionDraft;
  readonly rate: string;
}

function StartForm({ configId, enabled, methods }: ReplayTabProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>({
    method: methods[0] ?? 'onEvent',
    selection: everyEvent,
    rate: '',
  });
  const change = (more: Partial<Draft>): void => setDraft({ ...draft, ...more });
  const start = useMutation({
    mutationFn: () => startReplay(projectId, bodyOf(configId, draft)),
    onSuccess: () => refresh(client, replaysPath(projectId)),
  });
  return (
    <Section
      title="Replay stored events"
      description="Passes events to the plugin, oldest first. It gets them once more if it had them before."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          start.mutate();
        }}
      >
        <EventSelectionFields
          draft={draft.selection}
          onChange={(selection) => change({ selection })}
          done="replayed"
          error={start.error}
        >
          <DeliveryFields draft={draft} methods={methods} onChange={change} />
        </EventSelectionFields>
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" busy={start.isPending} disabled={!enabled}>
            Start replay
          </Button>
          {!enabled && <p className="text-xs text-soft">Enable the plugin first.</p>}
        </div>
        <ErrorNote error={start.error} />
      </form>
    </Section>
  );
}

interface DeliveryFieldsProps {
  readonly draft: Draft;
  readonly methods: readonly ReplayMethod[];
  readonly onChange: (change: Partial<Draft>) => void;
}

function DeliveryFields({ draft, methods, onChange: change }: DeliveryFieldsProps) {
  return (
    <>
      <TextInput
        label="Maximum events per second"
        inputMode="numeric"
        hint="Empty: as fast as the plugin."
        value={draft.rate}
        onChange={(rate) => change({ rate })}
      />
      {methods.length > 1 && (
        <Select
          label="Method"
          value={draft.method}
          choices={methods.map((value) => ({ value, label: value }))}
          onChange={(method) => change({ method })}
        />
      )}
    </>
  );
}

function bodyOf(configId: number, { method, selection, rate }: Draft): EventReplayStart {
  return {
    plugin_config: configId,
    method,
    selection: selectionOf(selection),
    // The service explains what is wrong with a text that is not a number.
    ...(rate !== '' && { events_per_second: (Number.isNaN(Number(rate)) ? rate : Number(rate)) as number }),
  };
}

const tones: Readonly<Record<EventReplay['state'], Tone>> = {
  queued: 'neutral',
  running: 'info',
  done: 'ok',
  failed: 'danger',
  cancelled: 'warn',
};

function isOpen({ state }: EventReplay): boolean {
  return state === 'queued' || state === 'running';
}

const columns: readonly Column<EventReplay>[] = [
  {
    id: 'state',
    header: 'State',
    width: '8rem',
    cell: ({ state }) => <Badge tone={tones[state]}>{state[0]?.toUpperCase() + state.slice(1)}</Badge>,
  },
  { id: 'started', header: 'Started', width: '11rem', cell: ({ created_at }) => <TimeText time={created_at} /> },
  { id: 'events', header: 'Events', cell: (replay) => <SelectionText replay={replay} /> },
  { id: 'progress', header: 'Delivered', width: '14rem', cell: (replay) => <Progress replay={replay} /> },
  {
    id: 'failed',
    header: 'Failed',
    width: '6rem',
    align: 'end',
    cell: ({ progress }) => <NumberText value={progress?.failed ?? 0} />,
  },
  { id: 'cancel', header: 'Actions', width: '7rem', cell: (replay) => <CancelButton replay={replay} /> },
];

function SelectionText({ replay: { request, error } }: { readonly replay: EventReplay }) {
  const { events, after, before } = request.selection;
  const days = [after && `from ${after}`, before && `before ${before}`].filter(Boolean).join(' ');
  return (
    <span className="flex min-w-0 flex-col">
      <UserText text={[events?.join(', ') ?? 'All events', days].filter(Boolean).join(', ')} charsMax={120} />
      {error !== '' && (
        <span className="text-xs text-danger">
          <UserText text={error} charsMax={400} />
        </span>
      )}
    </span>
  );
}

function Progress({ replay: { progress, state } }: { readonly replay: EventReplay }) {
  if (progress === null) return <span className="text-faint">–</span>;
  const { total, delivered, failed, events_per_second: speed } = progress;
  return (
    <span className="flex flex-col gap-1">
      <span>
        <NumberText value={delivered} /> of <NumberText value={total} />
        {state === 'running' && ` · ${Math.round(speed).toLocaleString('en')}/s`}
      </span>
      {state === 'running' && <ProgressBar label="Delivered" share={(delivered + failed) / Math.max(1, total)} />}
    </span>
  );
}

function CancelButton({ replay }: { readonly replay: EventReplay }) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const canEdit = useHasRole('editor');
  const cancel = useMutation({
    mutationFn: () => cancelReplay(projectId, replay.id),
    onSettled: () => refresh(client, replaysPath(projectId)),
  });
  if (!canEdit || !isOpen(replay)) return null;
  return (
    <Button size="small" busy={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </Button>
  );
}
