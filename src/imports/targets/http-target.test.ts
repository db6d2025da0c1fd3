import { describe, expect, it } from 'vitest';
import { TargetError, TargetWaitError, type LoadBatch } from '../target.ts';
import { openHttpTarget } from './http-target.ts';
import { directRequest } from './http-request.ts';
import { startBatchService, type Treatment } from '../../../test/support/batch-service.ts';

function batchOf(count: number): LoadBatch {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      uuid: `u-${n}`,
      event: 'é\n"',
      distinct_id: 'd',
      timestamp: '2024-03-01T00:00:00Z',
      properties: {},
    }),
  );
  return { day: '2024-03-01', lines: Buffer.from(lines.join('\n')), events: count };
}

function target(url: string) {
  return openHttpTarget({ url, apiKey: 'phc_secret', runId: 'r', request: directRequest(2000) });
}

const signal = new AbortController().signal;

describe('a service that speaks /batch/ as a target', () => {
  it.each(['', '/', '/batch', '/batch/'])('is found at its address with "%s" at the end', async (end) => {
    await using service = await startBatchService(() => 'keep');
    const { description, deliver } = target(`${service.url}${end}`);
    expect(description).toBe(`${service.url}/batch/`);
    expect(await deliver(batchOf(3), signal)).toEqual({ accepted: 3, rejected: [] });
    expect([...service.stored.values()].map(({ event }) => event)).toEqual(['é\n"', 'é\n"', 'é\n"']);
  });

  it('halves a batch that is too large, down to the event that is rejected', async () => {
    await using service = await startBatchService((batch) =>
      batch.length > 3 || batch.some(({ uuid }) => uuid === 'u-7') ? { status: 413 } : 'keep',
    );
    const delivered = await target(service.url).deliver(batchOf(20), signal);
    expect(delivered).toMatchObject({ accepted: 19, rejected: [{ index: 7, code: 'request_too_large' }] });
    expect([...service.stored.keys()].toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => `u-${n}`)
        .filter((uuid) => uuid !== 'u-7')
        .toSorted(),
    );
  });

  it.each<[string, Treatment, RegExp]>([
    ['401', { status: 401, body: { detail: 'no such key' } }, /project key \(401\): no such key/],
    ['403', { status: 403 }, /project key \(403\)/],
    ['404', { status: 404 }, /accepts no events \(404\)/],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.test/' } }, /final address/],
  ])('ends the load at %s', async (_name, treatment, message) => {
    await using service = await startBatchService(() => treatment);
    const outcome = target(service.url).deliver(batchOf(2), signal);
    await expect(outcome).rejects.toThrow(TargetError);
    await expect(outcome).rejects.toThrow(message);
    await expect(outcome).rejects.not.toThrow(/phc_secret/);
  });

  it('ends the load if it refuses one event after the other and never accepted one', async () => {
    await using service = await startBatchService(() => ({ status: 400, body: { detail: 'what is this' } }));
    await expect(target(service.url).deliver(batchOf(300), signal)).rejects.toThrow(/answers 400: what is this/);
    expect(service.stored.size).toBe(0);
  });

  it.each<[string, Treatment, number | undefined]>([
    ['429', { status: 429, headers: { 'retry-after': '12' } }, 12_000],
    ['503', { status: 503 }, undefined],
    ['a reset', 'reset', undefined],
  ])('makes the load wait at %s', async (_name, treatment, retryAfterMs) => {
    await using service = await startBatchService(() => treatment);
    const error: unknown = await target(service.url)
      .deliver(batchOf(2), signal)
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(TargetWaitError);
    expect(error).toHaveProperty('retryAfterMs', retryAfterMs);
  });

  it.each(['ftp://host', 'nonsense', 'https://user:password@host/'])('is not %s', (url) => {
    expect(() => target(url)).toThrow(/expected the target as http/);
  });
});
