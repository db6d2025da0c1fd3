/** An event store in memory: keeps rows as inserted, honours tokens, and reads as the real one does. */
import type { EventStore, RowBatch } from '../../src/stores/events/eventstore.ts';

export interface StoredRow {
  readonly projectId: number;
  readonly day: number;
  readonly uuid: string;
  readonly micros: number;
  readonly receivedAtMicros: number;
  readonly historical: boolean;
  readonly event: string;
  readonly distinctId: string;
  readonly properties: string;
  /** Of the import that stored it; empty for none. */
  readonly importRun: string;
}

/** Reads back what EventRowWriter wrote: one block in the Native format, columns in the order of eventColumns. */
export function decodeRows({ chunks, rows }: RowBatch): StoredRow[] {
  const buffer = Buffer.concat(chunks);
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    return buffer.subarray(at - length, at);
  };
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const [byte = 0] = take(1);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const text = (): string => take(number()).toString('utf8');
  const column = <Value>(read: () => Value): Value[] => {
    text(); // name
    text(); // type
    return Array.from({ length: rows }, read);
  };
  const micros = (): number => Number(take(8).readBigInt64LE());
  const shape = [number(), number()];
  if (shape.join() !== `10,${rows}`) throw new Error(`expected 10 columns of ${rows} rows, got: ${shape.join()}`);
  const projectIds = column(() => take(4).readInt32LE());
  const days = column(() => take(4).readInt32LE());
  const uuids = column(() => uuidText(take(16)));
  const times = column(micros);
  const receivedAts = column(micros);
  const historicals = column(() => take(1).readUInt8() === 1);
  const [events, ids, properties, runs] = [column(text), column(text), column(text), column(text)];
  if (at !== buffer.length) throw new Error(`expected rows to end at ${buffer.length}, got: ${at}`);
  return Array.from({ length: rows }, (_, row) => ({
    projectId: projectIds[row] as number,
    day: days[row] as number,
    uuid: uuids[row] as string,
    micros: times[row] as number,
    receivedAtMicros: receivedAts[row] as number,
    historical: historicals[row] as boolean,
    event: events[row] as string,
    distinctId: ids[row] as string,
    properties: properties[row] as string,
    importRun: runs[row] as string,
  }));
}

function dayText(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** Kept as two little-endian halves. */
function uuidText(bytes: Buffer): string {
  const half = (from: number): string => bytes.readBigUInt64LE(from).toString(16).padStart(16, '0');
  return (half(0) + half(8)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Every row as inserted, a repeated token dropped. */
export function createRecordingStore() {
  const tokens = new Set<string>();
  const rows: StoredRow[] = [];
  const inserts: { token: string; rows: StoredRow[] }[] = [];
  let refuse: ((rows: readonly StoredRow[]) => Error | undefined) | undefined;
  const store: EventStore = {
    insertBatch: async (batch, token) => {
      const decoded = decodeRows(batch);
      const error = refuse?.(decoded);
      if (error !== undefined) throw error;
      inserts.push({ token, rows: decoded });
      if (tokens.has(token)) return;
      tokens.add(token);
      rows.push(...decoded);
    },
    deleteRun: async ({ projectId, runId, from, to }) => {
      const isIn = ({ day }: StoredRow): boolean => dayText(day) >= from && dayText(day) <= to;
      const kept = rows.filter((row) => row.projectId !== projectId || !isIn(row) || row.importRun !== runId);
      rows.splice(0, rows.length, ...kept);
    },
    removeExpired: async () => {
      throw new Error('the double keeps all rows');
    },
    erase: async ({ projectId, filter: { distinctIds, ...others } }) => {
      if (Object.values(others).some((each) => each !== undefined)) throw new Error('expected ids only, got more');
      const isKept = (row: StoredRow): boolean =>
        row.projectId !== projectId || distinctIds?.includes(row.distinctId) === false;
      rows.splice(0, rows.length, ...rows.filter(isKept));
    },
    query: async () => [],
    waitForReplicas: async () => {},
    health: async () => ({ ok: true, detail: '' }),
    close: async () => {},
  };
  return {
    store,
    /** As stored, doubles of the same identity included. */
    rows,
    inserts,
    /** As read: of equal identities the one received first. */
    read(): StoredRow[] {
      const byIdentity = new Map<string, StoredRow>();
      for (const row of rows) {
        const key = JSON.stringify([row.projectId, row.day, row.event, row.distinctId, row.uuid]);
        const known = byIdentity.get(key);
        if (known === undefined || row.receivedAtMicros < known.receivedAtMicros) byIdentity.set(key, row);
      }
      return [...byIdentity.values()];
    },
    refuseWhile(check: ((rows: readonly StoredRow[]) => Error | undefined) | undefined): void {
      refuse = check;
    },
  };
}
