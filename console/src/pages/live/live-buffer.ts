import type { LiveEvent, LiveSkipped, LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';
import { parseExact } from '../../api/exact-json.ts';

/** An event at a stage. */
export interface LiveRow {
  /** Counts up; the newest has the highest. */
  readonly key: number;
  readonly event: LiveEvent;
}

/** Why what came by is not shown. */
export interface NotShown {
  /** More of a stage in a second than the service sends. */
  readonly rate: number;
  /** This page was too slow to take it. */
  readonly slow: number;
  /** It was shown, and newer ones took its place. */
  readonly older: number;
}

export interface LiveView {
  /** Newest first. */
  readonly rows: readonly LiveRow[];
  /** All that came by since the page began to watch, shown or not. */
  readonly seen: Readonly<Record<LiveStage, number>>;
  readonly notShown: NotShown;
}

export interface LiveBuffer {
  /** The data of a message `event`. */
  add(json: string): void;
  /** The data of a message `skipped`. */
  skip(json: string): void;
  /** As it is now; the same object until something is added. */
  view(): LiveView;
}

const none = Object.fromEntries(liveStages.map((stage) => [stage, 0])) as Record<LiveStage, number>;
export const emptyView: LiveView = { rows: [], seen: none, notShown: { rate: 0, slow: 0, older: 0 } };

interface Kept extends LiveRow {
  readonly chars: number;
}

/** The newest rows, bounded in number and in size; everything else is only counted. */
export function createLiveBuffer({ rowsMax = 1_000, charsMax = 32_000_000 } = {}): LiveBuffer {
  const kept: Kept[] = [];
  const seen = { ...none };
  const skipped = { rate: 0, slow: 0 };
  let older = 0;
  let chars = 0;
  let lastKey = 0;
  let view: LiveView | undefined = emptyView;
  const dropOldest = (): void => {
    let count = 0;
    for (; kept.length - count > rowsMax || (chars > charsMax && kept.length - count > 1); count += 1) {
      chars -= kept[count]?.chars ?? 0;
    }
    kept.splice(0, count);
    older += count;
  };
  return {
    add(json) {
      const event = parseExact(json) as LiveEvent;
      lastKey += 1;
      chars += json.length;
      seen[event.stage] += 1;
      kept.push({ key: lastKey, event, chars: json.length });
      // In pieces: moving a thousand rows for each event would cost more than the event.
      if (kept.length >= rowsMax * 1.5 || chars > charsMax) dropOldest();
      view = undefined;
    },
    skip(json) {
      const message = JSON.parse(json) as LiveSkipped;
      for (const why of ['rate', 'slow'] as const) {
        for (const stage of liveStages) {
          const count = message[why][stage] ?? 0;
          seen[stage] += count;
          skipped[why] += count;
        }
      }
      view = undefined;
    },
    view() {
      if (view !== undefined) return view;
      dropOldest();
      view = { rows: kept.toReversed(), seen: { ...seen }, notShown: { ...skipped, older } };
      return view;
    },
  };
}

export function totalOf(seen: LiveView['seen']): number {
  return liveStages.reduce((sum, stage) => sum + seen[stage], 0);
}
