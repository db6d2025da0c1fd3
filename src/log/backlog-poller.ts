import { createBacklogQueue, type BacklogQueue, type RecordSize } from './backlog-queue.ts';
import { lanes, type Backlog, type Lane } from './eventlog.ts';
import type { PerLane, SlotCursors } from './shared-log.ts';

/** What the server of a log knows of it. */
export interface BacklogSource {
  /** Returns the last seq by lane and slot. A slot whose end is unknown at present is omitted. */
  ends(): Promise<PerLane<ReadonlyMap<number, number>>>;
  /** Returns the average size of the first records after `from`; undefined if nothing follows. */
  sample(lane: Lane, slot: number, from: number): Promise<RecordMean | undefined>;
}

export interface RecordMean {
  readonly events: number;
  readonly bytes: number;
}

export interface BacklogDeps {
  readonly source: BacklogSource;
  readonly cursors: () => Promise<SlotCursors>;
  /** Called for every slot at every poll. A cursor beyond the end means that the log has lost acknowledged records. */
  readonly onEnd: (lane: Lane, slot: number, end: number, cursor: number) => void;
}

/**
 * Computes the waiting records of all slots from the ends of the slots and the committed cursors. The sizes of records that this
 * process appended are known; those of other processes are estimated from a sample.
 */
export interface BacklogPoller {
  poll(): Promise<void>;
  appended(lane: Lane, slot: number, size: RecordSize): void;
  backlog(lane: Lane): Backlog;
  /** As in EventLogWriter. */
  backlogOf(lane: Lane, projectId: number, writers: number): Backlog;
  /** Returns the waiting records of each slot as of the last poll. */
  bySlot(lane: Lane): ReadonlyMap<number, number>;
  /** Returns how long the oldest record has waited, s; records from before the first poll count from then. */
  oldestSeconds(lane: Lane): number;
  /** Returns how long the server has not answered, s; 0 if it answered the last request. */
  silentSeconds(): number;
}

interface Mark {
  readonly end: number;
  /** ms, monotonic. */
  readonly at: number;
}

interface SlotState {
  readonly own: BacklogQueue;
  /** Observed ends, oldest first; the first is not consumed yet. */
  marks: Mark[];
  /** Records that this process did not append. */
  others: number;
  waiting: number;
}

interface Mean extends RecordMean {
  /** ms, monotonic. */
  readonly at: number;
}

/** Above this, every other mark is dropped: the longer the wait, the less a minute matters. */
const marksMax = 120;
const sampleEveryMs = 30_000;
const nothing: Backlog = { records: 0, events: 0, bytes: 0 };

export function createBacklogPoller({ source, cursors, onEnd }: BacklogDeps): BacklogPoller {
  const slots: PerLane<Map<number, SlotState>> = { live: new Map(), historical: new Map() };
  const sums: Record<Lane, Backlog> = { live: nothing, historical: nothing };
  const means: Record<Lane, Mean | undefined> = { live: undefined, historical: undefined };
  let unansweredSince: number | undefined;
  const stateOf = (lane: Lane, slot: number): SlotState => {
    const known = slots[lane].get(slot) ?? { own: createBacklogQueue(), marks: [], others: 0, waiting: 0 };
    slots[lane].set(slot, known);
    return known;
  };

  const note = async (lane: Lane, ends: ReadonlyMap<number, number>, done: ReadonlyMap<number, number>) => {
    let busiest = { slot: -1, others: 0, from: 0 };
    for (const [slot, end] of ends) {
      const cursor = done.get(slot) ?? 0;
      onEnd(lane, slot, end, cursor);
      const state = stateOf(lane, slot);
      state.own.dropThrough(cursor);
      state.waiting = Math.max(0, end - cursor);
      state.others = Math.max(0, state.waiting - state.own.totals().records);
      state.marks = marked(state.marks, cursor, end);
      if (state.others > busiest.others) busiest = { slot, others: state.others, from: cursor };
    }
    const { at } = means[lane] ?? { at: -Infinity };
    if (busiest.others > 0 && performance.now() - at > sampleEveryMs) {
      const mean = await source.sample(lane, busiest.slot, busiest.from);
      if (mean !== undefined) means[lane] = { ...mean, at: performance.now() };
    }
    sums[lane] = summed(slots[lane].values(), means[lane]);
  };

  return {
    poll: async () => {
      // Cursors first: an end that is read later cannot be before one of them.
      const done = await cursors();
      unansweredSince ??= performance.now();
      const ends = await source.ends();
      unansweredSince = undefined;
      for (const lane of lanes) await note(lane, ends[lane], done[lane]);
    },
    appended: (lane, slot, size) => {
      stateOf(lane, slot).own.push(size);
      const { records, events, bytes } = sums[lane];
      sums[lane] = { records: records + 1, events: events + size.events, bytes: bytes + size.bytes };
    },
    backlog: (lane) => sums[lane],
    backlogOf: (lane, projectId, writers) => {
      let { records, events, bytes } = nothing;
      for (const { own, others } of slots[lane].values()) {
        const totals = own.totalsOf(projectId);
        if (totals.records === 0) continue;
        const times = Math.min(writers, 1 + others / own.totals().records);
        records += Math.round(totals.records * times);
        events += Math.round(totals.events * times);
        bytes += Math.round(totals.bytes * times);
      }
      return { records, events, bytes };
    },
    bySlot: (lane) => new Map([...slots[lane]].map(([slot, { waiting }]) => [slot, waiting])),
    oldestSeconds: (lane) => {
      const oldest = Math.min(...[...slots[lane].values()].map(({ marks: [first] }) => first?.at ?? Infinity));
      return oldest === Infinity ? 0 : Math.round((performance.now() - oldest) / 1000);
    },
    silentSeconds: () => (unansweredSince === undefined ? 0 : (performance.now() - unansweredSince) / 1000),
  };
}

function marked(marks: readonly Mark[], cursor: number, end: number): Mark[] {
  const waiting = marks.filter((mark) => mark.end > cursor);
  if (end > (waiting.at(-1)?.end ?? cursor)) waiting.push({ end, at: performance.now() });
  return waiting.length > marksMax ? waiting.filter((_, index) => index % 2 === 0) : waiting;
}

function summed(states: Iterable<SlotState>, mean: Mean | undefined): Backlog {
  let { records, events, bytes } = nothing;
  for (const { own, others } of states) {
    const totals = own.totals();
    records += totals.records + others;
    events += totals.events + Math.round(others * (mean?.events ?? 1));
    bytes += totals.bytes + Math.round(others * (mean?.bytes ?? 0));
  }
  return { records, events, bytes };
}
