import type { Lane, ReadLimits } from '../log/eventlog.ts';

/** Body bytes read at once; most are compressed. */
const bytesPerRead = 32 * 1024 * 1024;
/** How long a historical window may take to compute, and to store: live events wait for both, so at most about a second. */
const historicalMsMax = 450;
/** Below this, what an insert costs per month outweighs what it costs per event: smaller windows would only be slower. */
const historicalEventsMin = 20_000;
const historicalEventsFirst = 50_000;
/** Nobody waits for history when the last live event is longer ago. */
const liveQuietMs = 30_000;
/**
 * How long transformations that have to be waited for may make a window: changes of configuration count from the next one on, and
 * live events wait for its end.
 */
const waitedMsMax = 800;
/**
 * The same of history while nobody sends live events: long enough for full windows, since each costs the store a part per month; yet
 * a first live event and a stopping service, which wait as well, are not held up for longer than a page takes to load.
 */
const waitedAloneMsMax = 5000;

/**
 * How much to take in one window. While live events come, the historical lane takes what can be done in well under a
 * second; an import on its own takes all it may, since an insert costs per month, however few its rows.
 */
export interface LaneLimits {
  of(lane: Lane): ReadLimits;
  /** How long transformations may make a window, ms. */
  waitedMsMax(lane: Lane): number;
  /** What a window of that many events took, ms. */
  took(lane: Lane, events: number, ms: number): void;
}

/** `nowMs`: a clock that never goes back. */
export function createLaneLimits(eventsMax: number, nowMs: () => number): LaneLimits {
  let historicalEvents = Math.min(eventsMax, historicalEventsFirst);
  let liveAt = -Infinity;
  const isQuiet = (): boolean => nowMs() - liveAt > liveQuietMs;
  const eventsOf = (lane: Lane): number => (lane === 'live' || isQuiet() ? eventsMax : historicalEvents);
  return {
    of: (lane) => ({ events: eventsOf(lane), bytes: bytesPerRead }),
    waitedMsMax: (lane) => (lane === 'historical' && isQuiet() ? waitedAloneMsMax : waitedMsMax),
    took: (lane, events, ms) => {
      if (lane === 'live') liveAt = nowMs();
      // A window that was not full says little about a full one, unless it was slow.
      if (lane === 'live' || (events < historicalEvents / 2 && ms < historicalMsMax)) return;
      const fitting = Math.floor((events * historicalMsMax) / Math.max(ms, 1));
      const next = Math.min(fitting, historicalEvents * 2, eventsMax);
      historicalEvents = Math.max(Math.min(historicalEventsMin, eventsMax), next);
    },
  };
}
