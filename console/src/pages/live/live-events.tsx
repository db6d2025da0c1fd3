import { Pause, Play } from 'lucide-react';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { isTyping } from '../../shell/is-typing.ts';
import { EventWayPanel } from './event-way-panel.tsx';
import { totalOf, type LiveRow, type LiveView } from './live-buffer.ts';
import { liveColumns } from './live-columns.tsx';
import type { LiveFilter } from './live-search.ts';
import { NotShownNote } from './not-shown-note.tsx';
import { StageFilter } from './stage-filter.tsx';
import { StreamBadge } from './stream-badge.tsx';
import { useLiveStream } from './use-live-stream.ts';

interface LiveEventsProps {
  readonly filter: LiveFilter;
  readonly onStages: (stages: readonly LiveStage[] | undefined) => void;
}

/** The stream under one filter. */
export function LiveEvents({ filter, onStages }: LiveEventsProps) {
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
