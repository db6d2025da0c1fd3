import type { LiveEvent, LiveSkipped, LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';
import { parseExact } from '../../api/exact-json.ts';

/** An event at a stage. */
export interface LiveRow {
  /** Counts up; the newest has the highest. */
  readonly key: number;
  readonly event: LiveEvent;
}

/** Counts of events that are not shown, by reason. */
export interface NotShown {
  /** Above the rate per stage that the service sends. */
  readonly rate: number;
  /** The page was too slow to receive them. */
  readonly slow: number;
  /** Replaced by newer ones. */
  readonly older: number;
}

export interface LiveView {
  /** Newest first. */
  readonly rows: readonly LiveRow[];
  /** Counts since the page was opened, shown or not. */
  readonly seen: Readonly<Record<LiveStage, number>>;
  readonly notShown: NotShown;
}

interface LiveBuffer {
  /** The data of a message `event`. */
  add(json: string): void;
  /** The data of a message `skipped`. */
  skip(json: string): void;
  /** Returns the current view, the same object until something is added. */
  view(): LiveView;
}

const zeros = Object.fromEntries(liveStages.map((stage) => [stage, 0])) as Record<LiveStage, number>;
export const emptyView: LiveView = { rows: [], seen: zeros, notShown: { rate: 0, slow: 0, older: 0 } };

interface Kept extends LiveRow {
  readonly chars: number;
}

/** Keeps the newest rows, limited in number and size, and counts all others. */
export function createLiveBuffer({ rowsMax = 1_000, charsMax = 32_000_000 } = {}): LiveBuffer {
  const kept: Kept[] = [];
  const seen = { ...zeros };
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
      // In batches: moving a thousand rows per event would cost more than the event.
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
