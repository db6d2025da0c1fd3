import { newId } from '../../src/base/ids.ts';
import type { RecordSize } from '../../src/log/backlog-queue.ts';
import {
  LogUnavailableError,
  type EventLogReader,
  type EventLogWriter,
  type Lane,
  type LogRecord,
  type ReadLimits,
  type StoredRecord,
} from '../../src/log/eventlog.ts';

export interface MemoryLog {
  /** With the only slot as the default. */
  readonly writer: EventLogWriter & { append(lane: Lane, record: LogRecord, slot?: number): Promise<number> };
  readonly reader: EventLogReader;
  /** Another reader of the same records. */
  openReader(): EventLogReader;
  /** Makes the record come back as damaged, as a checksum failure would. */
  damage(lane: Lane, seq: number, why: string): void;
  /** Until it is called with undefined: appends reject with LogUnavailableError and this message. */
  failAppends(message: string | undefined): void;
}

interface MemoryLane {
  readonly records: Map<number, StoredRecord & { readonly size: Omit<RecordSize, 'seq'> }>;
  lastSeq: number;
}

/** The event log without a disk: for tests. Writer and reader share one thread. `id`: what tells it from others. */
export function createMemoryLog(id = newId()): MemoryLog {
  const state: Record<Lane, MemoryLane> = { live: createLane(), historical: createLane() };
  const wakeUps: ReturnType<typeof createWakeUp>[] = [];
  let failure: string | undefined;
  let closed = false;

  const writer: MemoryLog['writer'] = {
    slots: 1,
    append: async (lane, record) => {
      if (closed) throw new LogUnavailableError('the event log is closed');
      if (failure !== undefined) throw new LogUnavailableError(failure);
      const seq = addRecord(state[lane], record);
      for (const { wake } of wakeUps) wake();
      return seq;
    },
    backlog: (lane) => {
      const totals = { records: 0, events: 0, bytes: 0 };
      for (const { size } of state[lane].records.values()) addSize(totals, size);
      return totals;
    },
    backlogOf: (lane, projectId) => {
      const totals = { records: 0, events: 0, bytes: 0 };
      for (const { size } of state[lane].records.values()) if (size.projectId === projectId) addSize(totals, size);
      return totals;
    },
    end: async (lane) => state[lane].lastSeq,
    close: async () => {
      closed = true;
    },
  };
  const openReader = (): EventLogReader => {
    const wakeUp = createWakeUp();
    wakeUps.push(wakeUp);
    return {
      id,
      read: async (lane, afterSeq, limits) => readRecords(state[lane], afterSeq, limits),
      commit: (lane, seq) => {
        const { records } = state[lane];
        for (const known of records.keys()) if (known <= seq) records.delete(known);
      },
      waitForAppend: (timeoutMs) => wakeUp.wait(timeoutMs),
      close: async () => wakeUp.close(),
    };
  };
  return {
    writer,
    reader: openReader(),
    openReader,
    damage: (lane, seq, why) => {
      const record = state[lane].records.get(seq);
      if (record === undefined) throw new Error(`expected a waiting record to damage, got: ${lane} ${seq}`);
      const bytes = record.damaged === undefined ? record.body : record.bytes;
      state[lane].records.set(seq, { seq, damaged: why, bytes, size: record.size });
    },
    failAppends: (message) => {
      failure = message;
    },
  };
}

function addSize(totals: { records: number; events: number; bytes: number }, size: Omit<RecordSize, 'seq'>): void {
  totals.records += 1;
  totals.events += size.events;
  totals.bytes += size.bytes;
}

function createLane(): MemoryLane {
  return { records: new Map(), lastSeq: 0 };
}

function addRecord(lane: MemoryLane, record: LogRecord): number {
  lane.lastSeq += 1;
  const seq = lane.lastSeq;
  const size = { projectId: record.header.projectId, events: record.header.events, bytes: record.body.byteLength };
  lane.records.set(seq, { seq, header: { ...record.header }, body: new Uint8Array(record.body), size });
  return seq;
}

function readRecords(lane: MemoryLane, afterSeq: number, limits: ReadLimits): StoredRecord[] {
  const found: StoredRecord[] = [];
  let events = 0;
  let bytes = 0;
  for (const { size, ...record } of lane.records.values()) {
    if (record.seq <= afterSeq) continue;
    if (record.seq > (limits.lastSeq ?? Infinity)) break;
    found.push(record);
    events += size.events;
    bytes += size.bytes;
    if (events >= limits.events || bytes >= limits.bytes) break;
  }
  return found;
}

/** One waiter at a time; an append between two waits is not missed. */
function createWakeUp() {
  let pending = false;
  let closed = false;
  let release: (() => void) | undefined;
  const wake = () => {
    pending = true;
    release?.();
  };
  return {
    wake,
    wait: async (timeoutMs: number): Promise<void> => {
      if (!pending && !closed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          release = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        release = undefined;
      }
      pending = false;
    },
    close: () => {
      closed = true;
      wake();
    },
  };
}
