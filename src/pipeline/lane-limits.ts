import type { Lane, ReadLimits } from '../log/eventlog.ts';

/** Body bytes per read; most are compressed. */
const bytesPerRead = 32 * 1024 * 1024;
/** How long a historical window may take to compute, and to store: live events wait for both, so at most about a second. */
const historicalMsMax = 450;
/** Below this, the cost of an insert per month exceeds its cost per event: smaller windows would only be slower. */
const historicalEventsMin = 20_000;
const historicalEventsFirst = 50_000;
/** The live lane counts as idle when its last event is older than this. */
const liveQuietMs = 30_000;
/**
 * How long asynchronous transformations may extend a window: changes of configuration take effect from the next window on, and
 * live events wait for this one to end.
 */
const waitedMsMax = 800;
/**
 * The same for history while no live events arrive: long enough for full windows, since each costs the store a part per month, but
 * short enough that a first live event and a stopping service wait no longer than a page takes to load.
 */
const waitedQuietMsMax = 5000;

/**
 * Decides the size of a window. While live events arrive, the historical lane takes what can be processed in well under a
 * second; otherwise it takes the maximum, since an insert has a cost per month, however few its rows.
 */
export interface LaneLimits {
  of(lane: Lane): ReadLimits;
  /** How long transformations may extend a window, ms. */
  waitedMsMax(lane: Lane): number;
  /** Records how long a window with that many events took, ms. */
  record(lane: Lane, events: number, ms: number): void;
}

/** @param nowMs a monotonic clock */
export function createLaneLimits(eventsMax: number, nowMs: () => number): LaneLimits {
  let historicalEvents = Math.min(eventsMax, historicalEventsFirst);
  let liveAt = -Infinity;
  const isQuiet = (): boolean => nowMs() - liveAt > liveQuietMs;
  const eventsOf = (lane: Lane): number => (lane === 'live' || isQuiet() ? eventsMax : historicalEvents);
  return {
    of: (lane) => ({ events: eventsOf(lane), bytes: bytesPerRead }),
    waitedMsMax: (lane) => (lane === 'historical' && isQuiet() ? waitedQuietMsMax : waitedMsMax),
    record: (lane, events, ms) => {
      if (lane === 'live') liveAt = nowMs();
      // A partial window predicts little about a full one, unless it was slow.
      if (lane === 'live' || (events < historicalEvents / 2 && ms < historicalMsMax)) return;
      const fitting = Math.floor((events * historicalMsMax) / Math.max(ms, 1));
      const next = Math.min(fitting, historicalEvents * 2, eventsMax);
      historicalEvents = Math.max(Math.min(historicalEventsMin, eventsMax), next);
    },
  };
}
