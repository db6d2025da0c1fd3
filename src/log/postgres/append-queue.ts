import { recordChecksum } from '../checksum.ts';
import { LogUnavailableError, type Lane, type LogRecord } from '../eventlog.ts';
import type { RecordSize } from '../backlog-queue.ts';
import type { Connected } from './connect.ts';

export interface AppendQueueDeps {
  readonly connected: Connected;
  readonly lane: Lane;
  readonly slot: number;
  readonly timeoutMs: number;
  /** Called for each record that is durable. */
  readonly stored: (size: RecordSize) => void;
  /** Called for each executed statement, with its time in s. */
  readonly answered: (seconds: number) => void;
  readonly failed: (error: unknown) => void;
}

interface Pending {
  readonly record: LogRecord;
  readonly deadline: number;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: LogUnavailableError) => void;
}

const recordsMax = 500;
const bytesMax = 4 * 1024 * 1024;
const valuesPerRecord = 4;

/**
 * Appends to one slot's lane in the order of the calls: while a statement is executed, further records wait for the next one, which takes
 * all of them. So the number of commits does not grow with the load.
 */
export class AppendQueue {
  readonly #deps: AppendQueueDeps;
  #pending: Pending[] = [];
  #working: Promise<void> | undefined;

  constructor(deps: AppendQueueDeps) {
    this.#deps = deps;
  }

  append(record: LogRecord): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#pending.push({ record, deadline: performance.now() + this.#deps.timeoutMs, resolve, reject });
    this.#working ??= this.#work();
    return promise;
  }

  /** Resolves once nothing waits. */
  async drained(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#next();
      try {
        await this.#insert(batch);
      } catch (error) {
        this.#deps.failed(error);
        const reason =
          error instanceof LogUnavailableError ? error : new LogUnavailableError('append failed', { cause: error });
        for (const { reject } of batch) reject(reason);
      }
    }
    this.#working = undefined;
  }

  #next(): readonly Pending[] {
    let bytes = 0;
    let count = 0;
    for (const { record } of this.#pending) {
      bytes += record.body.byteLength;
      if (count === recordsMax || (count > 0 && bytes > bytesMax)) break;
      count += 1;
    }
    return this.#pending.splice(0, count);
  }

  async #insert(all: readonly Pending[]): Promise<void> {
    const now = performance.now();
    const batch = all.filter(({ deadline }) => deadline > now);
    const late = new LogUnavailableError('PostgreSQL is too slow: the record waited too long; try again later');
    for (const each of all) if (each.deadline <= now) each.reject(late);
    if (batch.length === 0) return;
    const { connected, lane, slot, stored, answered } = this.#deps;
    const [done] = await connected.ask<{ readonly before: number }>(insertSql(batch.length), [
      slot,
      lane,
      batch.length,
      ...batch.flatMap(({ record }) => valuesOf(record)),
    ]);
    if (done === undefined) {
      throw new LogUnavailableError(`the event log in PostgreSQL has no slot ${slot}; were its tables changed?`);
    }
    answered((performance.now() - now) / 1000);
    for (const [index, { record, resolve }] of batch.entries()) {
      const { projectId, events } = record.header;
      const seq = done.before + index + 1;
      stored({ seq, projectId, events, bytes: record.body.byteLength });
      resolve(seq);
    }
  }
}

function valuesOf({ header, body }: LogRecord): readonly unknown[] {
  const text = JSON.stringify(header);
  // The driver sends a Buffer as it is; shared memory may change in the meantime.
  const { buffer, byteOffset, byteLength } = body;
  const bytes = buffer instanceof ArrayBuffer ? Buffer.from(buffer, byteOffset, byteLength) : Buffer.from(body);
  return [header.events, text, recordChecksum(text, bytes), bytes];
}

/**
 * One statement is one transaction: the seqs are taken and the records inserted together. Its commit waits for the disk, and for replicas
 * if the server is configured so, even if the default of the user is not to.
 */
function insertSql(records: number): string {
  const rows = Array.from({ length: records }, (_, index) => {
    const at = 4 + index * valuesPerRecord;
    return `(${index + 1}, $${at}::integer, $${at + 1}::text, $${at + 2}::bigint, $${at + 3}::bytea)`;
  });
  return `WITH durable AS (
  SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
    ELSE current_setting('synchronous_commit') END, true) AS setting
), taken AS (
  UPDATE event_log_ends SET last_seq = last_seq + $3::integer WHERE slot = $1::integer AND lane = $2::text
  RETURNING slot, lane, last_seq - $3::integer AS before
), inserted AS (
  INSERT INTO event_log_records (slot, lane, seq, events, header, checksum, body)
  SELECT slot, lane, before + number, events, header, checksum, body
  FROM taken, (VALUES ${rows.join(', ')}) AS given (number, events, header, checksum, body)
)
SELECT before FROM taken, durable`;
}
