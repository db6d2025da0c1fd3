/** An event store in memory: keeps rows as inserted, honours tokens, and reads as the real one does. */
import type { EventStore, RowBatch } from '../eventstore/eventstore.ts';

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
}

/** Reads back what EventRowWriter wrote: RowBinary, columns in the order of eventColumns. */
export function decodeRows({ bytes, rows }: RowBatch): StoredRow[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const text = (): string => {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = buffer[at++] as number;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    at += length;
    return buffer.toString('utf8', at - length, at);
  };
  const decoded: StoredRow[] = [];
  for (let row = 0; row < rows; row++) {
    const projectId = buffer.readInt32LE(at);
    const day = buffer.readInt32LE(at + 4);
    const high = Buffer.from(buffer.subarray(at + 8, at + 16))
      .reverse()
      .toString('hex');
    const low = Buffer.from(buffer.subarray(at + 16, at + 24))
      .reverse()
      .toString('hex');
    const micros = Number(buffer.readBigInt64LE(at + 24));
    const receivedAtMicros = Number(buffer.readBigInt64LE(at + 32));
    const historical = buffer[at + 40] === 1;
    at += 41;
    const uuid = `${high.slice(0, 8)}-${high.slice(8, 12)}-${high.slice(12)}-${low.slice(0, 4)}-${low.slice(4)}`;
    const [event, distinctId, properties] = [text(), text(), text()];
    decoded.push({ projectId, day, uuid, micros, receivedAtMicros, historical, event, distinctId, properties });
  }
  if (at !== buffer.length) throw new Error(`expected rows to end at ${buffer.length}, got: ${at}`);
  return decoded;
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
    query: async () => [],
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
