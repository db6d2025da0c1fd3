import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { parseLines } from '../json-lines.ts';
import { insertError, queryError } from '../engine-errors.ts';
import type { QueryParam, RowBatch, StoreHealth } from '../eventstore.ts';
import { StoreUnavailableError } from '../eventstore.ts';
import { encodeFrame, FrameReader, type Frame } from '../../../base/frames.ts';
import type { RunTableRef } from '../run-table-names.ts';
import { checkExpiry, type RemovedRows } from '../expired-rows.ts';
import { createRunTables, type RunStore } from '../run-tables.ts';
import { singleForm } from '../schema-form.ts';
import { checkToken, deleteRunSql } from '../sql.ts';
import { toWireExpiry, wireEraseRows, type StoreRequest, type StoreResponse, type WireParam } from './requests.ts';
import { eraseConditions, replacedPartsSql } from '../erase-sql.ts';
import { waitForRemoval } from '../wait-for-removal.ts';

export interface ConnectOptions {
  /** How long a call waits for an engine that is restarting. */
  readonly waitMs?: number;
}

const healthWaitMs = 2000;
const retryMs = 50;

/**
 * Connects to the embedded engine, whose process startChdb keeps running. Any number of clients, in any thread, may use one socket. Rows
 * are passed in a file in `spoolDir`, so that none of their bytes becomes SQL text.
 */
export function connectChdb(socketPath: string, spoolDir: string, options: ConnectOptions = {}): RunStore {
  const link = new EngineLink(socketPath);
  const waitMs = options.waitMs ?? 10_000;
  const ask = async (request: Call): Promise<Buffer> => {
    const answer = await link.call(request, waitMs);
    if (!answer.header.ok) throw queryError(answer.header.message);
    return answer.body;
  };
  const query = async <Row>(sql: string, params: Readonly<Record<string, QueryParam>> = {}): Promise<Row[]> =>
    parseLines<Row>(await ask({ kind: 'query', sql, params: wireParams(params) }));
  return {
    async insertBatch(batch, token) {
      checkToken(token);
      if (batch.rows > 0) await insertThroughFile({ link, spoolDir, waitMs }, batch, token);
    },
    async deleteRun(rows) {
      deleteRunSql(rows);
      await ask({ kind: 'delete-run', rows });
    },
    async removeExpired(month, expiries) {
      checkExpiry(month, expiries);
      const removed = await ask({ kind: 'remove-expired', month, expiries: expiries.map(toWireExpiry) });
      return JSON.parse(removed.toString('utf8')) as RemovedRows;
    },
    async erase(rows, watch) {
      eraseConditions(rows);
      await ask({ kind: 'erase', rows: wireEraseRows(rows) });
      const list = async () => (await query<{ name: string }>(replacedPartsSql('events'))).map(({ name }) => name);
      await waitForRemoval({ list, nudge: async () => void (await ask({ kind: 'nudge' })) }, watch);
    },
    query,
    waitForReplicas: () => Promise.resolve(),
    runTables: createRunTables({
      form: singleForm,
      change: async (change) => void (await ask({ kind: 'change-run-table', change })),
      insert: (into, batch, token) => insertThroughFile({ link, spoolDir, waitMs }, batch, token, into),
      replicaRows: async <Row>(sql: string) => [[await query<Row>(sql)]],
      query,
      lines: (sql) => ask({ kind: 'query', sql: `${sql} FORMAT TSVRaw`, params: {} }),
    }),
    async health() {
      try {
        const answer = await link.call({ kind: 'health' }, healthWaitMs);
        if (answer.header.ok) return JSON.parse(answer.body.toString('utf8')) as StoreHealth;
        return { ok: false, detail: `The health of the embedded event store is unknown: ${answer.header.message}` };
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        return { ok: false, detail: error.message };
      }
    },
    close: () => link.close(),
  };
}

interface InsertPath {
  readonly link: EngineLink;
  readonly spoolDir: string;
  readonly waitMs: number;
}

async function insertThroughFile(
  { link, spoolDir, waitMs }: InsertPath,
  batch: RowBatch,
  token: string,
  into?: RunTableRef,
): Promise<void> {
  const file = `${randomUUID()}.native`;
  const path = join(spoolDir, file);
  try {
    await writeFile(path, batch.chunks, { mode: 0o600, flag: 'wx' }).catch((cause: unknown) => {
      throw new StoreUnavailableError(`The spool file ${path} cannot be written; is the disk full?`, { cause });
    });
    const answer = await link.call({ kind: 'insert', file, rows: batch.rows, token, ...(into && { into }) }, waitMs);
    if (!answer.header.ok) throw insertError(answer.header.message);
  } finally {
    await rm(path, { force: true });
  }
}

function wireParams(params: Readonly<Record<string, QueryParam>>): Record<string, WireParam> {
  const wire: Record<string, WireParam> = {};
  for (const [name, value] of Object.entries(params)) {
    wire[name] = typeof value === 'bigint' ? { bigint: String(value) } : value;
  }
  return wire;
}

type Answer = Frame<StoreResponse>;
type Call =
  | Omit<Extract<StoreRequest, { kind: 'insert' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'delete-run' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'remove-expired' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'erase' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'nudge' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'change-run-table' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'query' }>, 'id'>
  | Omit<Extract<StoreRequest, { kind: 'health' }>, 'id'>;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** One connection to the engine's process, reopened when a call finds it broken. */
class EngineLink {
  readonly #socketPath: string;
  #socket: Promise<Socket> | undefined;
  #closed = false;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Rejects with StoreUnavailableError when there is no connection within `waitMs`, or when it breaks before the answer. */
  async call(request: Call, waitMs: number): Promise<Answer> {
    const socket = await this.#connected(waitMs);
    const id = ++this.#lastId;
    return await new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      socket.write(encodeFrame({ ...request, id }));
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const socket = await this.#socket?.catch(() => undefined);
    socket?.destroy();
    this.#breakAll();
  }

  async #connected(waitMs: number): Promise<Socket> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      if (this.#closed) throw new StoreUnavailableError('The event store is closed.');
      try {
        this.#socket ??= this.#open();
        const socket = await this.#socket;
        // A socket that has closed in the meantime emits no further event.
        if (!socket.destroyed) return socket;
      } catch (cause) {
        if (performance.now() + retryMs > deadline) {
          const message = 'The embedded event store is not running; it is restarting.';
          throw new StoreUnavailableError(message, { cause });
        }
        await new Promise((done) => setTimeout(done, retryMs));
      }
    }
  }

  #open(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#socketPath);
      const reader = new FrameReader<StoreResponse>();
      socket.once('connect', () => resolve(socket));
      // 'close' always follows.
      socket.once('error', (error) => reject(error));
      socket.on('data', (chunk) => {
        try {
          for (const frame of reader.push(chunk)) this.#answered(frame);
        } catch (error) {
          // Not our protocol; 'close' follows and rejects waiting calls.
          socket.destroy(error instanceof Error ? error : undefined);
        }
      });
      socket.once('close', () => {
        this.#socket = undefined;
        this.#breakAll();
      });
    });
  }

  #answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.header.id);
    this.#waiting.delete(answer.header.id);
    waiting?.resolve(answer);
  }

  #breakAll(): void {
    const broken = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiting of broken) {
      waiting.reject(new StoreUnavailableError('The embedded event store stopped before it answered; try again.'));
    }
  }
}
