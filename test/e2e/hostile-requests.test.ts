/** Requests without a key, made to cost as much as they can, against the real program: what each costs its main thread. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileRequests } from '../support/hostile-requests.ts';
import { costOf } from '../support/main-thread-cpu.ts';
import { hasProc } from '../support/processes.ts';
import { sendRaw } from '../support/send-raw.ts';
import { startServer, tempDataDir, type TestServer } from '../support/server.ts';

const tries = 3;
/** Compared with a body of the same size that nothing looks at. Before there were limits it was a hundred times and more. */
const timesBaselineMax = 10;

/** One of each kind; `npm run prove -- hostile-requests` sends all of them. */
const names = [
  '20 MB of one escaped key again and again',
  '20 MB of events without a key',
  '250 kB of one escaped key again and again',
  'gzip of 90 MiB of one key again and again',
  'gzip in base64 in a form',
  'lz64 of 20 kB',
  'lz64 of 500 kB',
  '20 MB of form fields',
  'API: 19 MB of JSON',
  'API: 13 MB of form',
  'API: 60 kB of equal fields',
  'sign-in: 13 MB of form',
  'no endpoint: 19 MB of JSON',
  'capture: chunks of one byte',
];

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
let baselineMs = 0;
const requests = hostileRequests().filter(({ name }) => names.includes(name));

async function leastCost(request: Parameters<typeof sendRaw>[1]): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < tries; i++) {
    costs.push(await costOf(server.child.pid ?? 0, () => sendRaw(Number(new URL(server.url).port), request)));
  }
  return Math.min(...costs);
}

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path);
  if (!hasProc) return;
  const body = Buffer.alloc(20_000_000, 'x');
  baselineMs = await leastCost({ name: 'baseline', path: '/nothing', headers: { 'content-type': 'text/plain' }, body });
});
afterAll(async () => {
  await server.kill();
  await dataDir[Symbol.asyncDispose]();
});

it('has one request of each kind', () => {
  expect(requests.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
});

it.skipIf(!hasProc).each(requests)(
  'no request without a key costs the main thread much more than its bytes: $name',
  async (request) => {
    expect(await leastCost(request)).toBeLessThan(timesBaselineMax * baselineMs);
  },
);
