import { describe, expect, it } from 'vitest';
import { limitRequests } from './limit-requests.ts';
import type { OutboundResponse } from './outbound.ts';

const response: OutboundResponse = { status: 200, statusText: '', headers: {}, body: new Uint8Array(), url: '' };
const request = { url: 'https://x.example/' };

describe('requests of one user', () => {
  it('beyond the limit per minute they are refused until the next minute', async () => {
    let now = 0;
    const fetch = limitRequests(async () => response, { perMinute: 3, atOnce: 10, now: () => now });
    for (let sent = 0; sent < 3; sent += 1) await fetch(request);
    now = 20_000;
    await expect(fetch(request)).rejects.toMatchObject({
      kind: 'limit',
      retry: true,
      message: 'expected at most 3 requests per minute, got more; retry in 40 s',
    });
    now = 60_000;
    expect((await fetch(request)).status).toBe(200);
  });

  it('a clock set back starts a new minute', async () => {
    let now = 1_000_000;
    const fetch = limitRequests(async () => response, { perMinute: 1, atOnce: 10, now: () => now });
    await fetch(request);
    now = 0;
    expect((await fetch(request)).status).toBe(200);
  });

  it('beyond the concurrency limit they are queued, also when others fail', async () => {
    const ends: (() => void)[] = [];
    let most = 0;
    let running = 0;
    const slow = async (): Promise<OutboundResponse> => {
      most = Math.max(most, (running += 1));
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      if (ends.length % 2 === 0) throw new Error('broken');
      return response;
    };
    const fetch = limitRequests(slow, { perMinute: 100, atOnce: 3 });
    const all = Promise.allSettled(Array.from({ length: 10 }, () => fetch(request)));
    let ended = 0;
    while (ended < 10) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(running).toBeLessThanOrEqual(3);
      const end = ends[ended];
      if (end === undefined) continue;
      ended += 1;
      end();
    }
    expect((await all).length).toBe(10);
    expect([most, running]).toEqual([3, 0]);
  });

  it('have a limited queue', async () => {
    let now = 0;
    const never = (): Promise<OutboundResponse> => new Promise(() => undefined);
    const fetch = limitRequests(never, { perMinute: 5, atOnce: 1, now: () => now });
    for (let sent = 0; sent < 6; sent += 1) {
      void fetch(request);
      now += 60_000;
    }
    await expect(fetch(request)).rejects.toThrow('expected at most 1 concurrent requests and 5 queued ones, got more');
  });
});
