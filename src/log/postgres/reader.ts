import { recordChecksum } from '../checksum.ts';
import {
  lanes,
  LogUnavailableError,
  type EventLogReader,
  type Lane,
  type ReadLimits,
  type StoredRecord,
} from '../eventlog.ts';
import { parseRecordHeader } from '../record-header.ts';
import { startDeleting, type StoredPlace, type StoredPlaces } from '../stored-places.ts';
import type { SharedLogReaders, SharedReaderDeps, SharedReaderOptions } from '../shared-log.ts';
import { createAppendWatch, type AppendWatch } from './append-watch.ts';
import { connect, type Connected, type PostgresLogOptions } from './connect.ts';
import { readIdentity } from './tables.ts';

const statementMs = 30_000;
/** Limits of one query. */
const recordsMax = 2000;
const bytesMax = 16 * 1024 * 1024;

/** Requires existing tables, which a writer creates. Rejects with LogMisconfiguredError or LogUnavailableError. */
export async function openPostgresLogReaders(
  options: PostgresLogOptions & SharedReaderOptions,
  deps: SharedReaderDeps,
): Promise<SharedLogReaders> {
  const connected = connect(options, statementMs);
  const id = await readIdentity(connected, options).catch(async (error: unknown) => {
    await connected.close();
    throw error;
  });
  const watch = createAppendWatch(connected, (error) => deps.onFailure?.('wait', error));
  const deleting = startDeleting({
    everyMs: options.deleteEveryMs,
    expired: deps.expired,
    remove: (places) => deleteStored(connected, places),
    failed: async (error) => deps.onFailure?.('delete', error),
  });
  return {
    slots: options.slots,
    reader: (slot) => {
      if (!(slot >= 0 && slot < options.slots)) {
        throw new RangeError(`expected a slot below ${options.slots}, got: ${slot}`);
      }
      return new SlotReader(slot, { id, connected, watch, deleting, deps });
    },
    close: async () => {
      watch.close();
      await deleting.stop();
      await connected.close();
    },
  };
}

interface Shared {
  /** Of the log. */
  readonly id: string;
  readonly connected: Connected;
  readonly watch: AppendWatch;
  readonly deleting: StoredPlaces;
  readonly deps: SharedReaderDeps;
}

class SlotReader implements EventLogReader {
  readonly id: string;
  readonly #slot: number;
  readonly #shared: Shared;
  readonly #closing = new AbortController();
  /** Seq after which the next read is expected to begin. */
  readonly #seen: Record<Lane, number> = { live: 0, historical: 0 };

  constructor(slot: number, shared: Shared) {
    this.#slot = slot;
    this.#shared = shared;
    this.id = `${shared.id}-${slot}`;
  }

  async read(lane: Lane, afterSeq: number, limits: ReadLimits): Promise<StoredRecord[]> {
    if (this.#closing.signal.aborted) throw new Error('expected an open event log to read from, got a closed one');
    const found: StoredRecord[] = [];
    const { lastSeq = Number.MAX_SAFE_INTEGER } = limits;
    const left = { events: limits.events, bytes: limits.bytes };
    let at = afterSeq;
    while (at < lastSeq) {
      const rows = await this.#rows(lane, at, lastSeq, left);
      for (const row of rows) {
        found.push(recordOf(row));
        left.events -= row.events;
        left.bytes -= row.body.byteLength;
      }
      at = rows.at(-1)?.seq ?? at;
      if (rows.length === 0) this.#assertReached(lane, at, limits.lastSeq);
      if (rows.length === 0 || left.events <= 0 || left.bytes <= 0) break;
    }
    this.#seen[lane] = at;
    this.#shared.deps.onRead?.(
      lane,
      found.length,
      found.reduce((sum, record) => sum + (record.damaged === undefined ? record.body : record.bytes).byteLength, 0),
    );
    return found;
  }

  commit(lane: Lane, seq: number): void {
    this.#shared.deleting.add({ lane, slot: this.#slot, seq });
  }

  async waitForAppend(timeoutMs: number): Promise<void> {
    const places = lanes.map((lane) => ({ place: `${lane}/${this.#slot}`, seen: this.#seen[lane] }));
    await this.#shared.watch.wait(places, timeoutMs, this.#closing.signal);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#shared.deleting.drop(this.#slot);
  }

  async #rows(lane: Lane, after: number, last: number, left: { readonly events: number; readonly bytes: number }) {
    const events = Math.min(left.events, Number.MAX_SAFE_INTEGER);
    return await this.#shared.connected.ask<RecordRow>(rowsSql, [
      this.#slot,
      lane,
      after,
      last,
      Math.max(1, events),
      Math.max(1, Math.min(left.bytes, bytesMax)),
    ]);
  }

  /** A range that was read before must be there as a whole: a shorter one would be another. */
  #assertReached(lane: Lane, at: number, lastSeq: number | undefined): void {
    if (lastSeq === undefined || at >= lastSeq) return;
    throw new LogUnavailableError(
      `expected slot ${this.#slot} of the event log in PostgreSQL (${lane}) to reach record ${lastSeq}, which was read before; it ends at ${at}`,
    );
  }
}

interface RecordRow {
  readonly seq: number;
  readonly events: number;
  readonly header: string;
  readonly checksum: number;
  readonly body: Buffer;
}

/** Ends with the record that reaches a limit. The size of a body is known without reading it. */
const rowsSql = `SELECT seq, events, header, checksum, body FROM (
  SELECT *, sum(events) OVER before AS events_before, sum(octet_length(body)) OVER before AS bytes_before
  FROM (
    SELECT seq, events, header, checksum, body FROM event_log_records
    WHERE slot = $1::integer AND lane = $2::text AND seq > $3::bigint AND seq <= $4::bigint
    ORDER BY seq LIMIT ${recordsMax}
  ) AS first
  WINDOW before AS (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS summed
WHERE coalesce(events_before, 0) < $5::bigint AND coalesce(bytes_before, 0) < $6::bigint ORDER BY seq`;

function recordOf({ seq, header: text, checksum, body }: RecordRow): StoredRecord {
  const found = recordChecksum(text, body);
  if (found !== checksum) return { seq, damaged: `expected checksum ${checksum}, got: ${found}`, bytes: body };
  const header = parseRecordHeader(text);
  if (header === undefined) {
    return { seq, damaged: 'expected the header of a record, got something else', bytes: body };
  }
  return { seq, header, body };
}

async function deleteStored(connected: Connected, places: readonly StoredPlace[]): Promise<void> {
  for (const { lane, slot, seq } of places) {
    await connected.ask('DELETE FROM event_log_records WHERE slot = $1 AND lane = $2 AND seq <= $3', [slot, lane, seq]);
  }
}
