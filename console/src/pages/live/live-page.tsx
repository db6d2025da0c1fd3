import { getRouteApi } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
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
import { EventWayPanel } from './event-way-panel.tsx';
import { type LiveRow, type LiveView, type NotShown, totalOf } from './live-buffer.ts';
import type { LiveFilter } from './live-search.ts';
import { liveStages } from './live-stages.ts';
import { StageBadge, stageNames } from './stage-badge.tsx';
import { type LiveStream, useLiveStream } from './use-live-stream.ts';

const route = getRouteApi('/projects/$projectId/live');

const filters = [
  { kind: 'text', name: 'event', label: 'Event', placeholder: 'Event, the whole name' },
  { kind: 'text', name: 'distinct_id', label: 'Distinct id', placeholder: 'Distinct id, the whole id' },
] as const satisfies readonly Filter[];

/** Events on their way, as they are seen. */
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
        description="Events on their way through the pipeline, as they are seen from now on. Nothing is kept here."
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

/** The stream under one filter. */
function LiveEvents({ filter, onStages }: LiveEventsProps) {
  const stream = useLiveStream(useProject().id, filter);
  const [frozen, setFrozen] = useState<LiveView>();
  const [chosen, setChosen] = useState<LiveRow>();
  const columns = useMemo(() => liveColumns(setChosen), []);
  const { rows, notShown } = frozen ?? stream.view;
  const toggle = (): void => setFrozen(frozen === undefined ? stream.view : undefined);
  useKey('p', toggle);
  const meanwhile = frozen === undefined ? 0 : totalOf(stream.view.seen) - totalOf(frozen.seen);
  // What comes while it is paused belongs to the way of an event that is open.
  const seen = useMemo(() => [...stream.view.rows, ...rows].map(({ event }) => event), [stream.view, rows]);
  if (stream.error !== undefined) return <ErrorState error={stream.error} />;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pb-3">
        <StageFilter chosen={filter.stages} seen={stream.view.seen} onChange={onStages} />
        <span className="grow" />
        <StreamBadge stream={stream} paused={frozen !== undefined} />
        <PauseButton paused={frozen !== undefined} meanwhile={meanwhile} onToggle={toggle} />
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
      <EventWayPanel chosen={chosen?.event} seen={seen} onClose={() => setChosen(undefined)} />
    </>
  );
}

const rowId = (row: LiveRow): string => String(row.key);

function PauseButton(props: { readonly paused: boolean; readonly meanwhile: number; readonly onToggle: () => void }) {
  const { paused, meanwhile, onToggle } = props;
  const Icon = paused ? Play : Pause;
  return (
    <Button
      kind={paused ? 'primary' : 'plain'}
      icon={<Icon aria-hidden="true" className="size-4" />}
      onClick={onToggle}
      aria-keyshortcuts="p"
    >
      {paused ? `Go on: ${meanwhile.toLocaleString('en')} came meanwhile` : 'Pause'}
    </Button>
  );
}

function NothingYet({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <EmptyState title="Nothing of these filters has come by yet">
        Event and distinct id must be the whole name. Clear the filters to see everything.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Waiting for events">
      What is sent from now on appears here by itself. How to send a first one stands on the home page.
    </EmptyState>
  );
}

function useKey(key: string, run: () => void): void {
  const latest = useRef(run);
  // Before they are painted: what the key does is about the rows that are seen.
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

/** @param open shows the way of the event of a row */
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
    { id: 'what', header: 'What', cell: ({ event }) => <What event={event} /> },
  ];
}

/** Why it ended, or what it holds. */
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

/** How many rows there are, and how many came by that are not among them, and why. */
function NotShownNote({ notShown, shown, breaks }: NotShownNoteProps) {
  const { rate, slow, older } = notShown;
  const parts = [
    [older, 'older than the newest that are kept'],
    [rate, 'more of a stage than 100 in a second'],
    [slow, 'faster than this browser could take them'],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, why]) => `${count.toLocaleString('en')} ${why}`);
  const total = (rate + slow + older).toLocaleString('en');
  return (
    <div className="flex flex-col gap-0.5 pt-2 text-xs text-soft">
      <p>
        {shown.toLocaleString('en')} rows shown.{' '}
        {told.length > 0 &&
          `${total} came by that are not shown here: ${told.join('; ')}. They were processed all the same.`}
      </p>
      {breaks > 0 && (
        <p>
          The connection broke {breaks === 1 ? 'once' : `${breaks} times`}: what came by meanwhile was not seen here. It
          was processed all the same.
        </p>
      )}
    </div>
  );
}

interface StageFilterProps {
  /** undefined: all. */
  readonly chosen: readonly LiveStage[] | undefined;
  readonly seen: LiveView['seen'];
  readonly onChange: (stages: readonly LiveStage[] | undefined) => void;
}

/** Which stages are watched, each with the number of events seen there. */
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

/** Whether events come in; while they do not, why. */
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
