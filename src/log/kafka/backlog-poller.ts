import type { KafkaConnections } from '../kafka-connection/connections.ts';
import { createBacklogQueue, type BacklogQueue, type RecordSize } from '../backlog-queue.ts';
import { lanes, type Backlog, type Lane } from '../eventlog.ts';
import { decodeBatches } from './batches.ts';
import type { KafkaCluster, PerLane } from './cluster.ts';
import { fetchRecords, listOffsets } from './requests.ts';

/** Progress of the consumers: last stored seq by slot; missing slots are at 0. */
export type SlotCursors = PerLane<ReadonlyMap<number, number>>;

export interface BacklogDeps {
  readonly cluster: KafkaCluster;
  readonly cursors: () => Promise<SlotCursors>;
  /** Called for every slot at every poll. A cursor beyond the end means that the log has lost acknowledged records. */
  readonly onEnd: (lane: Lane, slot: number, end: number, cursor: number) => void;
}

/**
 * Computes the waiting records of all slots from the ends of the partitions and the committed cursors. The sizes of records that this
 * process appended are known; those of other processes are estimated from a sample.
 */
export interface BacklogPoller {
  poll(): Promise<void>;
  appended(lane: Lane, slot: number, size: RecordSize): void;
  backlog(lane: Lane): Backlog;
  /** Returns the waiting records of one project that this process appended. */
  backlogOf(lane: Lane, projectId: number): Backlog;
  /** Returns the waiting records of each slot as of the last poll. */
  bySlot(lane: Lane): ReadonlyMap<number, number>;
  /** Returns how long the oldest record has waited, s; records from before the first poll count from then. */
  oldestSeconds(lane: Lane): number;
  /** Returns how long Kafka has not answered, s; 0 if it answered the last request. */
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

interface Mean {
  readonly events: number;
  readonly bytes: number;
  /** ms, monotonic. */
  readonly at: number;
}

/** Above this, every other mark is dropped: the longer the wait, the less a minute matters. */
const marksMax = 120;
const sampleEveryMs = 30_000;
const sampleBytes = 1024 * 1024;
const nothing: Backlog = { records: 0, events: 0, bytes: 0 };

export function createBacklogPoller({ cluster, cursors, onEnd }: BacklogDeps): BacklogPoller {
  const connections = cluster.connections('backlog');
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
      means[lane] = (await sample(cluster, connections, lane, busiest)) ?? means[lane];
    }
    sums[lane] = summed(slots[lane].values(), means[lane]);
  };

  return {
    poll: async () => {
      // Cursors first: an end that is read later cannot be before one of them.
      const done = await cursors();
      unansweredSince ??= performance.now();
      const ends = await endsOf(cluster, connections);
      unansweredSince = undefined;
      for (const lane of lanes) await note(lane, ends[lane], done[lane]);
    },
    appended: (lane, slot, size) => {
      stateOf(lane, slot).own.push(size);
      const { records, events, bytes } = sums[lane];
      sums[lane] = { records: records + 1, events: events + size.events, bytes: bytes + size.bytes };
    },
    backlog: (lane) => sums[lane],
    backlogOf: (lane, projectId) => {
      let { records, events, bytes } = nothing;
      for (const { own } of slots[lane].values()) {
        const totals = own.totalsOf(projectId);
        records += totals.records;
        events += totals.events;
        bytes += totals.bytes;
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

/** Reads ends by lane and slot. A slot whose leader does not know its end is omitted. */
async function endsOf(cluster: KafkaCluster, connections: KafkaConnections): Promise<PerLane<Map<number, number>>> {
  const ends: PerLane<Map<number, number>> = { live: new Map(), historical: new Map() };
  const laneOf = new Map(lanes.map((lane) => [cluster.topics[lane].name, lane]));
  const every = Array.from({ length: cluster.options.slots }, (_, slot) => slot);
  const partitions = lanes.flatMap((lane) =>
    every.map((slot) => ({ lane, slot, leader: cluster.leaderOf(lane, slot) })),
  );
  let isStale = false;
  for (const [leader, own] of Map.groupBy(partitions, (each) => each.leader)) {
    if (leader === undefined) {
      isStale = true;
      continue;
    }
    const topics = [...Map.groupBy(own, ({ lane }) => lane)].map(([lane, of]) => ({
      name: cluster.topics[lane].name,
      partitions: of.map(({ slot }) => slot),
    }));
    const answer = await listOffsets(await connections.to(leader), 'end', topics);
    for (const { name, partitions: found } of answer.topics) {
      const lane = laneOf.get(name);
      for (const { partitionIndex, errorCode, offset } of lane === undefined ? [] : found) {
        if (errorCode === 0 && lane !== undefined) ends[lane].set(partitionIndex, Number(offset));
        else isStale = true;
      }
    }
  }
  if (isStale) await cluster.refresh();
  return ends;
}

/** Returns the average events and bytes of the first waiting records of the slot; undefined if none arrived. */
async function sample(
  cluster: KafkaCluster,
  connections: KafkaConnections,
  lane: Lane,
  { slot, from }: { readonly slot: number; readonly from: number },
): Promise<Mean | undefined> {
  const leader = cluster.leaderOf(lane, slot);
  if (leader === undefined) return undefined;
  const asked = { topicId: cluster.topics[lane].id, partition: slot, offset: from, bytesMax: sampleBytes };
  const connection = await connections.to(leader);
  const answer = await fetchRecords(connection, { waitMs: 0, bytesMax: sampleBytes, partitions: [asked] });
  const { records } = await decodeBatches(answer.partitions[0]?.records ?? Buffer.alloc(0), from);
  if (records.length === 0) return undefined;
  let events = 0;
  let bytes = 0;
  for (const record of records) {
    events += record.damaged === undefined ? record.header.events : 1;
    bytes += record.damaged === undefined ? record.body.byteLength : record.bytes.byteLength;
  }
  return { events: events / records.length, bytes: bytes / records.length, at: performance.now() };
}
