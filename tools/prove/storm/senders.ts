import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { StormBatch, StormLedger } from './ledger.ts';
import { proofKeys } from '../one-machine/service.ts';

const answerMs = 10_000;
const retryMs = 50;
/** Beside 5xx, as by client libraries. */
const retried: ReadonlySet<number> = new Set([408, 429]);

export interface Senders {
  /** Each has an answer to its last batch; the service must be up. */
  stop(): Promise<void>;
}

/** So many senders at once, each one batch after the other, the same bytes until it is acknowledged, and then a rest. */
export function startSenders(
  url: string,
  { count, nextBatch, restMs }: { count: number; nextBatch: (sender: number) => StormBatch; restMs: () => number },
  ledger: StormLedger,
): Senders {
  const stopping = new AbortController();
  const work = Promise.all(
    Array.from({ length: count }, async (_, sender) => {
      while (!stopping.signal.aborted) {
        await sendUntilTaken(url, nextBatch(sender), ledger);
        await sleep(restMs());
      }
    }),
  );
  // Settled by `stop`; until then it is not awaited.
  work.catch(() => undefined);
  return {
    stop: async () => {
      stopping.abort();
      await work;
    },
  };
}

async function sendUntilTaken(url: string, batch: StormBatch, ledger: StormLedger): Promise<void> {
  // As different clients do; the same batch always in the same way.
  const isPacked = batch.number % 3 !== 0;
  const text = JSON.stringify({
    api_key: proofKeys.project,
    batch: batch.events,
    ...(batch.isHistorical && { historical_migration: true }),
  });
  const body = isPacked ? gzipSync(text) : Buffer.from(text);
  const headers = { 'content-type': 'application/json', ...(isPacked && { 'content-encoding': 'gzip' }) };
  for (;;) {
    const status = await statusOf(`${url}/batch/`, body, headers);
    if (status === 200) return ledger.noteAcknowledged(batch);
    if (status !== undefined && status < 500 && !retried.has(status)) {
      throw new Error(`expected a batch to be taken or to be asked for again, got: ${status}; clients would drop it`);
    }
    ledger.noteUnanswered(batch);
    await sleep(retryMs);
  }
}

/** Undefined: no answer; the service was killed, or starts. */
async function statusOf(
  url: string,
  body: Buffer<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  try {
    const answer = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(answerMs) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined;
  }
}
