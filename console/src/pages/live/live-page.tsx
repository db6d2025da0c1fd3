import { counted } from '../../components/format-number.ts';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import type { ApiError } from '../../api/api-error.ts';
import { readStream, type StreamState } from '../../api/event-stream.ts';
import { projectPath } from '../../api/queries.ts';
import { waitForSignIn } from '../../api/wait-for-sign-in.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { type Filter, FilterBar } from '../../components/filter-bar.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { oneLine } from '../../components/one-line.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { isTyping } from '../../shell/is-typing.ts';
import { useProject } from '../../shell/project-context.tsx';
import { EventPathPanel } from './event-path-panel.tsx';
import { createLiveBuffer, emptyView, type LiveRow, type LiveView, type NotShown, totalOf } from './live-buffer.ts';
import type { LiveFilter } from './live-search.ts';
import { liveStages } from './live-stages.ts';
import { StageBadge, stageNames } from './stage-badge.tsx';

const route = getRouteApi('/projects/$projectId/live');

const filters = [
  { kind: 'text', name: 'event', label: 'Event', placeholder: 'Event (full name)' },
  { kind: 'text', name: 'distinct_id', label: 'Distinct id', placeholder: 'Distinct id (full)' },
] as const satisfies readonly Filter[];

/** Live view of the events in the pipeline. */
export function LivePage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<typeof search>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const { event, distinct_id } = search;
  return (
    <>
      <PageHeader
        title="Live"
        description="Events in the pipeline from the moment you open this page. Nothing is stored here."
      />
      <FilterBar filters={filters} values={{ event, distinct_id }} onChange={change} />
      <LiveEvents
        key={JSON.stringify([search.stages, event, distinct_id])}
        filter={search}
        onStages={(stages: readonly LiveStage[] | undefined) => change({ stages })}
      />
    </>
  );
}

interface LiveEventsProps {
  readonly filter: LiveFilter;
  readonly onStages: (stages: readonly LiveStage[] | undefined) => void;
}

/** The stream for one filter. */
function LiveEvents({ filter, onStages }: LiveEventsProps) {
  const stream = useLiveStream(useProject().id, filter);
  const [frozen, setFrozen] = useState<LiveView>();
  const [chosen, setChosen] = useState<LiveRow>();
  const columns = useMemo(() => liveColumns(setChosen), []);
  const { rows, notShown } = frozen ?? stream.view;
  const toggle = (): void => setFrozen(frozen === undefined ? stream.view : undefined);
  useKey('p', toggle);
  const newSince = frozen === undefined ? 0 : totalOf(stream.view.seen) - totalOf(frozen.seen);
  // Events that arrive while paused may belong to the path of the open event.
  const seen = useMemo(() => [...stream.view.rows, ...rows].map(({ event }) => event), [stream.view, rows]);
  if (stream.error !== undefined) return <ErrorState error={stream.error} />;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pb-3">
        <StageFilter chosen={filter.stages} seen={stream.view.seen} onChange={onStages} />
        <span className="grow" />
        <StreamBadge stream={stream} paused={frozen !== undefined} />
        <PauseButton paused={frozen !== undefined} newSince={newSince} onToggle={toggle} />
      </div>
      <DataTable
        label="Live events"
        columns={columns}
        rows={rows}
        rowId={rowId}
        onOpen={setChosen}
        {...(chosen === undefined ? {} : { openId: rowId(chosen) })}
        empty={<NothingYet filtered={filter.event !== undefined || filter.distinct_id !== undefined} />}
      />
      <NotShownNote notShown={notShown} shown={rows.length} breaks={stream.breaks} />
      <EventPathPanel chosen={chosen?.event} seen={seen} onClose={() => setChosen(undefined)} />
    </>
  );
}

const rowId = (row: LiveRow): string => String(row.key);

function PauseButton(props: { readonly paused: boolean; readonly newSince: number; readonly onToggle: () => void }) {
  const { paused, newSince, onToggle } = props;
  const Icon = paused ? Play : Pause;
  return (
    <Button
      kind={paused ? 'primary' : 'plain'}
      icon={<Icon aria-hidden="true" className="size-4" />}
      onClick={onToggle}
      aria-keyshortcuts="p"
    >
      {paused ? `Resume (${newSince.toLocaleString('en')} new)` : 'Pause'}
    </Button>
  );
}

function NothingYet({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <EmptyState title="No matching events yet">
        The filters match full event names and ids only. Clear them to see all events.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Waiting for events">New events appear here as they arrive. See Home for sample code.</EmptyState>
  );
}

function useKey(key: string, run: () => void): void {
  const latest = useRef(run);
  // Before paint, so that the key applies to the rows on screen.
  useLayoutEffect(() => {
    latest.current = run;
  });
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === key && !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) latest.current();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [key]);
}

/** @param open shows the path of the event of a row */
function liveColumns(open: (row: LiveRow) => void): readonly Column<LiveRow>[] {
  return [
    { id: 'at', header: 'Seen', width: '7.5rem', cell: ({ event }) => <TimeText time={event.at} form="clock" /> },
    { id: 'stage', header: 'Stage', width: '8rem', cell: ({ event }) => <StageBadge stage={event.stage} /> },
    {
      id: 'event',
      header: 'Event',
      width: '14rem',
      cell: (row) => (
        <button type="button" className="max-w-full truncate text-left font-medium" onClick={() => open(row)}>
          <UserText text={row.event.event === '' ? '(no name)' : row.event.event} charsMax={60} short />
        </button>
      ),
    },
    {
      id: 'distinct_id',
      header: 'Distinct id',
      width: '12rem',
      cell: ({ event }) => (
        <span className="block truncate">
          <UserText text={event.distinct_id} charsMax={60} short />
        </span>
      ),
    },
    { id: 'what', header: 'Details', cell: ({ event }) => <What event={event} /> },
  ];
}

/** The reason why the event ended, or its properties. */
function What({ event }: Pick<LiveRow, 'event'>) {
  const text = event.reason ?? (event.properties === null ? 'too large to show' : oneLine(event.properties));
  return (
    <span className="block truncate text-soft">
      {event.historical_migration && (
        <>
          <Badge tone="neutral">historical</Badge>{' '}
        </>
      )}
      <UserText text={text} charsMax={160} short />
    </span>
  );
}

interface NotShownNoteProps {
  readonly notShown: NotShown;
  readonly shown: number;
  readonly breaks: number;
}

/** Reports the number of rows shown, and of events that are not shown with the reason. */
function NotShownNote({ notShown, shown, breaks }: NotShownNoteProps) {
  const { rate, slow, older } = notShown;
  const parts = [
    [older, 'older than the rows kept'],
    [rate, 'above 100 per second and stage'],
    [slow, 'too fast for this browser'],
  ] as const;
  const reasons = parts.filter(([count]) => count > 0).map(([count, why]) => `${count.toLocaleString('en')} ${why}`);
  const total = (rate + slow + older).toLocaleString('en');
  return (
    <div className="flex flex-col gap-0.5 pt-2 text-xs text-soft">
      <p>
        {counted(shown, 'row')} shown.{' '}
        {reasons.length > 0 && `${total} not shown: ${reasons.join('; ')}. They were processed normally.`}
      </p>
      {breaks > 0 && (
        <p>
          Connection lost {breaks === 1 ? 'once' : `${breaks} times`}. Events during that time are not shown, but were
          processed normally.
        </p>
      )}
    </div>
  );
}

interface StageFilterProps {
  /** Defaults to all. */
  readonly chosen: readonly LiveStage[] | undefined;
  readonly seen: LiveView['seen'];
  readonly onChange: (stages: readonly LiveStage[] | undefined) => void;
}

/** Selects the stages to watch, each with its number of events. */
function StageFilter({ chosen = liveStages, seen, onChange }: StageFilterProps) {
  const toggle = (stage: LiveStage): void => {
    const next = liveStages.filter((each) => (each === stage) !== chosen.includes(each));
    onChange(next.length === 0 || next.length === liveStages.length ? undefined : next);
  };
  return (
    <div role="group" aria-label="Stages" className="flex flex-wrap gap-1">
      {liveStages.map((stage) => {
        const on = chosen.includes(stage);
        return (
          <button
            key={stage}
            type="button"
            aria-pressed={on}
            onClick={() => toggle(stage)}
            className={classNames(
              'inline-flex h-8 items-center gap-1.5 rounded-md border px-2.5 text-xs font-medium',
              on ? 'border-accent bg-accent-soft text-accent' : 'border-line bg-surface text-soft hover:bg-hover',
            )}
          >
            {stageNames[stage]} {on && <NumberText value={seen[stage]} unit="short" />}
          </button>
        );
      })}
    </div>
  );
}

interface StreamBadgeProps {
  readonly stream: Pick<LiveStream, 'state' | 'reason' | 'breaks'>;
  readonly paused: boolean;
}

/** The state of the stream, with the reason while it is not connected. */
function StreamBadge({ stream: { state, reason, breaks }, paused }: StreamBadgeProps) {
  return (
    <span role="status" className="flex items-center gap-2 text-xs text-soft">
      {state !== 'open' && reason !== undefined && <UserText text={reason.detail} />}
      {state === 'open' && <StatusBadge tone={paused ? 'neutral' : 'ok'}>{paused ? 'paused' : 'watching'}</StatusBadge>}
      {state !== 'open' && (
        <StatusBadge tone="warn">{state === 'waiting' || breaks > 0 ? 'reconnecting' : 'connecting'}</StatusBadge>
      )}
    </span>
  );
}

interface LiveStream {
  readonly view: LiveView;
  readonly state: StreamState;
  /** Why the service refuses the stream for now; retried automatically. */
  readonly reason: ApiError | undefined;
  /** Number of disconnects; events during them were missed. */
  readonly breaks: number;
  /** An error that a retry cannot fix. */
  readonly error: unknown;
}

const renderIntervalMs = 250;
const initialStream: LiveStream = {
  view: emptyView,
  state: 'connecting',
  reason: undefined,
  breaks: 0,
  error: undefined,
};

/** Watches new events of the project. The filter must not change during the life of the component: give it a key. */
function useLiveStream(projectId: number, filter: LiveFilter): LiveStream {
  const [stream, setStream] = useState(initialStream);
  const client = useQueryClient();
  const { stages, event, distinct_id } = filter;
  const stagesText = stages?.join(',');
  useEffect(() => {
    const abort = new AbortController();
    const buffer = createLiveBuffer();
    const watching = readStream(projectPath(projectId, 'live_events'), {
      query: { stages: stagesText, event, distinct_id, steps: true },
      signal: abort.signal,
      waitForSignIn: (signal) => waitForSignIn(client, signal),
      onMessage: (message) => {
        if (message.event === 'event') buffer.add(message.data);
        else if (message.event === 'skipped') buffer.skip(message.data);
      },
      onState: (state, reason) =>
        setStream((before) => ({
          ...before,
          state,
          error: undefined,
          reason: state === 'open' ? undefined : (reason ?? before.reason),
          breaks: before.breaks + (before.state === 'open' && state === 'waiting' ? 1 : 0),
        })),
    });
    watching.catch((error: unknown) => setStream((before) => ({ ...before, state: 'waiting', error })));
    const timer = setInterval(() => {
      const view = buffer.view();
      setStream((before) => (before.view === view ? before : { ...before, view }));
    }, renderIntervalMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [client, projectId, stagesText, event, distinct_id]);
  return stream;
}
