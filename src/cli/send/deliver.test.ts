import { afterAll, describe, expect, it } from 'vitest';
import { createDeliver, type DeliverOptions } from './deliver.ts';
import { sendRecords, type LostRecord } from '../commands/send.ts';
import type { RawRecord } from './open-input.ts';
import { startEndpoint, type Behaviour } from '../../../test/support/capture-endpoint.ts';
import { createConverter } from './to-events.ts';
import { newTotals, type Totals } from './totals.ts';

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

function records(count: number): RawRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    place: `line ${index + 1}`,
    text: JSON.stringify({ event: 'x', distinct_id: 'd', properties: { n: index, bad: index % 10 === 3 } }),
  }));
}

interface Run {
  readonly totals: Totals;
  readonly kept: readonly unknown[];
  readonly lost: readonly LostRecord[];
  readonly error: unknown;
  readonly paths: readonly string[];
}

async function run(
  count: number,
  behave: Behaviour,
  more: Partial<DeliverOptions> = {},
  batchEventsMax = 50,
): Promise<Run> {
  const endpoint = await startEndpoint(behave);
  closing.push(() => endpoint[Symbol.asyncDispose]());
  const totals = newTotals();
  const lost: LostRecord[] = [];
  const signal = more.signal ?? new AbortController().signal;
  const deliver = createDeliver({
    endpoint: `${endpoint.url}/batch/`,
    projectKey: 'phc_test',
    historical: true,
    retriesMax: 5,
    signal,
    onRequest: () => (totals.requests += 1),
    onRetry: () => (totals.retries += 1),
    firstWaitMs: 1,
    ...more,
  });
  let error: unknown;
  try {
    await sendRecords({
      records: (async function* () {
        yield records(count);
      })(),
      convert: createConverter({ from: 'events', duplicates: 'keep' }),
      deliver,
      totals,
      batchEventsMax,
      batchBytesMax: 1_000_000,
      signal,
      onLost: (each) => lost.push(each),
    });
  } catch (cause) {
    error = cause;
  }
  return { totals, kept: endpoint.kept, lost, error, paths: endpoint.paths };
}

function numbers(kept: readonly unknown[]): number[] {
  return kept.map((event) => (event as { properties: { n: number } }).properties.n);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const badOnes = (count: number): number[] => upTo(count).filter((n) => n % 10 === 3);

describe('every event is delivered, and the totals are exact', () => {
  it('a service that accepts everything receives everything once, in order', async () => {
    const { totals, kept, error } = await run(175, () => 'keep');
    expect(error).toBeUndefined();
    expect(numbers(kept)).toEqual(upTo(175));
    expect(totals).toMatchObject({ read: 175, accepted: 175, rejected: 0, unsent: 0, requests: 4, retries: 0 });
  });

  it.each<[string, Behaviour]>([
    ['503', (_batch, attempt) => (attempt % 3 === 0 ? 'keep' : { status: 503 })],
    ['408', (_batch, attempt) => (attempt % 2 === 0 ? 'keep' : { status: 408 })],
    [
      '429 with Retry-After 0',
      (_batch, attempt) => (attempt % 2 === 0 ? 'keep' : { status: 429, headers: { 'retry-after': '0' } }),
    ],
    ['a connection reset', (_batch, attempt) => (attempt % 2 === 0 ? 'keep' : 'reset')],
  ])('%s is retried', async (_name, behave) => {
    const { totals, kept, error } = await run(120, behave);
    expect(error).toBeUndefined();
    expect(numbers(kept)).toEqual(upTo(120));
    expect(totals).toMatchObject({ accepted: 120, unsent: 0 });
    expect(totals.retries).toBe(totals.requests - 3);
  });

  it('a lost response sends the same uuids again', async () => {
    // Kept, but the answer never arrives.
    const { totals, kept } = await run(20, (_batch, attempt) => (attempt === 1 ? { status: 502, keep: true } : 'keep'));
    const uuids = kept.map((event) => (event as { uuid: string }).uuid);
    expect(uuids).toHaveLength(40);
    expect(new Set(uuids).size).toBe(20);
    expect(totals).toMatchObject({ accepted: 20 });
  });

  it('waits as long as Retry-After requires', async () => {
    const startedAt = Date.now();
    const { totals } = await run(5, (_batch, attempt) =>
      attempt === 1 ? { status: 429, headers: { 'retry-after': '1' } } : 'keep',
    );
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(990);
    expect(totals.accepted).toBe(5);
  });

  it('413 halves the batch until it fits; an event too large on its own is rejected', async () => {
    const { totals, kept, lost } = await run(100, ({ batch }) => {
      if (batch.length > 10) return { status: 413 };
      const holdsIt = batch.some((event) => (event['properties'] as { n: number }).n === 42);
      return holdsIt ? { status: 413, body: { code: 'request_too_large', detail: 'too large' } } : 'keep';
    });
    expect(numbers(kept)).toEqual(upTo(100).filter((n) => n !== 42));
    expect(totals).toMatchObject({ accepted: 99, rejected: 1, unsent: 0 });
    expect(lost).toMatchObject([{ source: { place: 'line 43' }, code: 'request_too_large' }]);
  });

  it('rejected events in a 200 are counted with their reasons', async () => {
    const { totals, lost } = await run(100, ({ batch }) => ({
      status: 200,
      body: {
        status: 'Ok',
        rejected: batch.flatMap((event, index) =>
          (event['properties'] as { bad: boolean }).bad
            ? [{ index, code: 'event_too_large', detail: 'no', attr: null }]
            : [],
        ),
      },
    }));
    expect(totals).toMatchObject({ accepted: 90, rejected: 10, unsent: 0 });
    expect(totals.reasons).toEqual(new Map([['event_too_large', 10]]));
    expect(lost.map((each) => each.source.place)).toEqual(badOnes(100).map((n) => `line ${n + 1}`));
  });

  it.each([400, 413])('a %i that lists every event costs one request', async (status) => {
    const { totals } = await run(3, ({ batch }) => ({
      status,
      body: {
        type: 'validation_error',
        code: 'required',
        detail: 'no',
        attr: 'batch[0].distinct_id',
        errors: batch.map((_, index) => ({ index, code: 'missing_distinct_id', detail: 'no', attr: null })),
      },
    }));
    expect(totals).toMatchObject({ accepted: 0, rejected: 3, requests: 1 });
    expect(totals.reasons).toEqual(new Map([['missing_distinct_id', 3]]));
  });

  it('a service that refuses a whole batch for one bad event still receives all valid ones', async () => {
    const { totals, kept } = await run(100, ({ batch }) =>
      batch.some((event) => (event['properties'] as { bad: boolean }).bad)
        ? { status: 400, body: { detail: 'bad' } }
        : 'keep',
    );
    expect(numbers(kept)).toEqual(upTo(100).filter((n) => n % 10 !== 3));
    expect(totals).toMatchObject({ accepted: 90, rejected: 10, unsent: 0 });
  });
});

describe('when the command must stop', () => {
  it.each<[number, string]>([
    [401, 'auth'],
    [403, 'auth'],
    [404, 'notFound'],
    [302, 'failed'],
  ])('status %i ends it immediately', async (status, reason) => {
    const { totals, error } = await run(10, () => ({ status, body: { detail: 'no such project key' } }));
    expect(error).toMatchObject({ reason });
    expect(totals).toMatchObject({ requests: 1, accepted: 0, unsent: 10 });
  });

  it.each<[string, Behaviour, string]>([
    ['503', () => ({ status: 503 }), 'unreachable'],
    ['429', () => ({ status: 429 }), 'rateLimited'],
    ['resets', () => 'reset', 'unreachable'],
  ])('only %s: fails after the given attempts', async (_name, behave, reason) => {
    const { totals, error } = await run(10, behave, { retriesMax: 2 });
    expect(error).toMatchObject({ reason });
    expect(totals).toMatchObject({ requests: 3, retries: 2, accepted: 0, unsent: 10 });
  });

  it('a service that refuses everything is not sent every event one by one', async () => {
    const { totals, error } = await run(5000, () => ({ status: 400, body: { detail: 'closed' } }), {}, 1000);
    expect(error).toMatchObject({ message: expect.stringContaining('closed') as string });
    expect(totals.requests).toBeLessThan(300);
    expect(totals.rejected + totals.unsent).toBe(totals.read);
  });

  it('during a wait, acknowledged events stay counted', async () => {
    const controller = new AbortController();
    const behave: Behaviour = (_batch, attempt) => {
      if (attempt < 3) return 'keep';
      setTimeout(() => controller.abort(new Error('stopped')), 20);
      return { status: 503, headers: { 'retry-after': '60' } };
    };
    const { totals, error, kept } = await run(300, behave, { signal: controller.signal });
    expect(error).toMatchObject({ message: 'stopped' });
    expect(kept).toHaveLength(100);
    expect(totals.accepted).toBe(100);
    expect(totals.accepted + totals.unsent).toBe(totals.read);
  });
});
