import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { deathsBefore, hostThread } from './thread-host.ts';
import type { ThreadData } from './thread.ts';

it('a thread that is still starting does not delay the stop', async () => {
  // Like one whose stores are unavailable.
  const entry = new URL('data:text/javascript,setInterval(() => {}, 1000); await new Promise(() => {})');
  const deps = { metrics: createMetrics(), log: createLog('silent'), answers: {} };
  const host = hostThread({ name: 'pipeline', entry, data: {} as ThreadData }, deps);
  host.start();
  await host.stop();
  expect(await host.health()).toMatchObject({ ok: false });
});

describe('a process of the service is killed, with the reason, when it', () => {
  it.each([
    [
      'exceeds its memory limit',
      'const held = []; setInterval(() => held.length < 60 && held.push(Buffer.alloc(8 * 2 ** 20, 1)), 50);',
      60_000,
      'it took more than 128 MiB of memory (THE_LIMIT)',
    ],
    ['no longer answers', "process.on('message', () => { for (;;); });", 1000, 'it did not answer for 1 s'],
  ])('%s', async (_name, code, stuckMsMax, reason) => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-host-test-'));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const entry = pathToFileURL(join(dir, 'entry.mjs'));
    await writeFile(entry, code);
    const ended = Promise.withResolvers<string>();
    const onEnd = async (how: string): Promise<void> => ended.resolve(how);
    const deps = { metrics: createMetrics(), log: createLog('silent'), answers: {}, onEnd };
    const limits = { memoryBytesMax: 128 * 1024 ** 2, memoryLimit: 'THE_LIMIT' };
    const host = hostThread({ name: 'imports', entry, data: {} as ThreadData, process: limits, stuckMsMax }, deps);
    host.start();
    expect(await ended.promise).toBe(reason);
    await host.stop();
  });
});

describe('the number of deaths that determines the delay of a restart', () => {
  it.each([
    ['continues when the thread died immediately', 3, 0, 3],
    ['continues when the thread lived a minute', 3, 60_000, 3],
    ['restarts when the thread lived longer than a minute', 3, 60_001, 0],
    ['is zero for the first thread', 0, 5, 0],
  ])('%s', (_name, deaths, livedMs, expected) => {
    expect(deathsBefore(deaths, livedMs)).toBe(expected);
  });
});
