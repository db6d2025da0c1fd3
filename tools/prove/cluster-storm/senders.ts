import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { StormProcess } from './cluster.ts';
import type { StormBatch } from './events.ts';
import type { StormProject } from './projects.ts';

/** Shorter than processes are suspended, so that some batches are sent to another one while the first has them. */
const answerMs = 5000;
const retryMs = 200;
/** Retried in addition to 5xx, as by client libraries; a process that was suspended within a body answers 408. */
const retried: ReadonlySet<number> = new Set([408, 429]);

export interface SendOptions {
  readonly captures: readonly StormProcess[];
  readonly projects: readonly StormProject[];
  readonly batches: readonly StormBatch[];
  /** Time over which the batches are spread, s; 0 means as fast as they are accepted. */
  readonly seconds: number;
}

/** Each sender sends one batch after the other, with the same bytes until a capture process has answered 200. */
export async function sendAll({ captures, projects, batches, seconds }: SendOptions): Promise<void> {
  const started = performance.now();
  const queues = Map.groupBy(batches, ({ project, sender }) => `${project}/${sender}`).values();
  let turn = 0;
  const send = async (batch: StormBatch): Promise<void> => {
    const body = bodyOf(batch, projects[batch.project]?.key);
    for (;;) {
      const { url } = captures[(turn += 1) % captures.length] ?? { url: '' };
      if (await isTaken(url, body)) return;
      await sleep(retryMs);
    }
  };
  await Promise.all(
    [...queues].map(async (own) => {
      for (const [at, batch] of own.entries()) {
        const earlyMs = started + (seconds * 1000 * at) / own.length - performance.now();
        if (earlyMs > 0) await sleep(earlyMs);
        await send(batch);
      }
    }),
  );
}

function bodyOf({ historical, events }: StormBatch, api_key: string | undefined): Buffer<ArrayBuffer> {
  return gzipSync(JSON.stringify({ api_key, batch: events, ...(historical && { historical_migration: true }) }));
}

async function isTaken(url: string, body: Buffer<ArrayBuffer>): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/batch/`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      signal: AbortSignal.timeout(answerMs),
    });
    await answer.arrayBuffer();
    if (answer.status === 200) return true;
    if (answer.status < 500 && !retried.has(answer.status)) throw new RefusedError(answer.status);
    return false;
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    // The process was killed, is suspended or starts.
    return false;
  }
}

class RefusedError extends Error {
  override name = 'RefusedError';

  constructor(status: number) {
    super(`expected a batch to be taken or to be asked for again, got: ${status}; client libraries would drop it`);
  }
}
