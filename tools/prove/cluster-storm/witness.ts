/**
 * Reads the event log alongside the pipelines. A batch whose response was lost is sent again and is in the log twice: its events are
 * stored once, but transformations see both. So only the log determines what their storage must contain.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { openKafkaLogReaders } from '../../../src/log/kafka/reader.ts';
import {
  LogUnavailableError,
  lanes,
  type EventLogReader,
  type Lane,
  type StoredRecord,
} from '../../../src/log/eventlog.ts';
import type { KafkaLogOptions } from '../../../src/server/service/stores.ts';
import type { StormEvent } from './events.ts';

export interface LogWitness {
  /** Last seq that was read. */
  seq(lane: Lane, slot: number): number;
  /** What the transformation of the project must have kept, `kept {"times":2,"sum":14}`. */
  kept(projectId: number): string[];
  /** Records deleted since the last call before they could be read: what must have been kept is then unknown. */
  takeGap(): string | undefined;
  /** Batches of the project that lie in the log once more, and the ids of their events. */
  repeated(projectId: number): { readonly batches: number; readonly ids: ReadonlySet<string> };
  close(): Promise<void>;
}

interface Seen {
  readonly kept: { times: number; sum: number };
  /** Of each batch the id of its first event. */
  readonly batches: Set<string>;
  readonly repeated: { batches: number; readonly ids: Set<string> };
}

/** Under which a transformation keeps what it counts. */
export const keptKey = 'kept';

const atOnce = { events: 20_000, bytes: 16 * 1024 * 1024 };
const retryMs = 50;
const waitMs = 500;

export async function openWitness(kafka: KafkaLogOptions): Promise<LogWitness> {
  const readers = await openKafkaLogReaders(kafka, {});
  const seen: Map<number, Seen> = new Map();
  const seqs = Array.from({ length: kafka.slots }, () => ({ live: 0, historical: 0 }));
  const closing = new AbortController();
  let gap: string | undefined;
  const note = (record: StoredRecord, lane: Lane, slot: number): void => {
    const before = seqs[slot]?.[lane] ?? 0;
    if (record.seq !== before + 1) gap ??= `records ${before + 1} to ${record.seq - 1} of ${lane}/${slot}`;
    if (record.damaged !== undefined) throw new Error(`expected a whole record, got: ${record.damaged}`);
    const { batch } = JSON.parse(gunzipSync(record.body).toString()) as { batch: StormEvent[] };
    count(batch, seenOf(seen, record.header.projectId));
  };
  const readOn = async (reader: EventLogReader, slot: number, own: Record<Lane, number>): Promise<void> => {
    let found = 0;
    for (const lane of lanes) {
      for (const record of await reader.read(lane, own[lane], atOnce)) {
        note(record, lane, slot);
        own[lane] = record.seq;
        found += 1;
      }
    }
    // What is stored is deleted: it must not fall behind.
    if (found === 0) await reader.waitForAppend(waitMs);
  };
  const follow = async (own: Record<Lane, number>, slot: number): Promise<void> => {
    const reader = readers.reader(slot);
    while (!closing.signal.aborted) {
      await readOn(reader, slot, own).catch(async (error: unknown) => {
        if (!(error instanceof LogUnavailableError)) throw error;
        await sleep(retryMs);
      });
    }
    await reader.close();
  };
  const following = Promise.all(seqs.map(follow));
  return {
    seq: (lane, slot) => seqs[slot]?.[lane] ?? 0,
    kept: (projectId) => {
      const { times, sum } = seenOf(seen, projectId).kept;
      return [keptLine(keptKey, times, sum)];
    },
    takeGap: () => {
      const found = gap;
      gap = undefined;
      return found;
    },
    repeated: (projectId) => seenOf(seen, projectId).repeated,
    close: async () => {
      closing.abort();
      await following;
      await readers.close();
    },
  };
}

export function keptLine(key: string, times: number, sum: number): string {
  return `${key} ${JSON.stringify({ times, sum })}`;
}

function seenOf(seen: Map<number, Seen>, projectId: number): Seen {
  const known = seen.get(projectId) ?? {
    kept: { times: 0, sum: 0 },
    batches: new Set(),
    repeated: { batches: 0, ids: new Set() },
  };
  seen.set(projectId, known);
  return known;
}

function count(batch: readonly StormEvent[], seen: Seen): void {
  const first = batch[0]?.uuid ?? '';
  if (seen.batches.has(first)) {
    seen.repeated.batches += 1;
    for (const { distinct_id: id } of batch) seen.repeated.ids.add(id);
  }
  seen.batches.add(first);
  seen.kept.times += batch.length;
  for (const { properties } of batch) seen.kept.sum += properties.n;
}
