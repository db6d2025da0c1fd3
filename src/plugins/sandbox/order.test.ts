import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from './create-sandbox.ts';
import { eventOf, openTestSandbox, propertiesOf, specOf, type TestSpec } from '../../../test/support/sandbox.ts';

let sandbox: IsolatedSandbox;
beforeAll(() => {
  sandbox = openTestSandbox();
});
afterAll(() => sandbox.close());

const numbered = (count: number) => Array.from({ length: count }, (_, n) => eventOf('a', { n }));
const pause = (longestMs: number) => new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));

/** Services in which capturing takes long, and storage a little. */
function slow(spec: TestSpec): { readonly spec: TestSpec; readonly most: () => number } {
  let now = 0;
  let most = 0;
  const { storage } = spec.services;
  const services = {
    ...spec.services,
    storage: {
      ...storage,
      get: async (key: string) => {
        await pause(2);
        return await storage.get(key);
      },
    },
    capture: async () => {
      most = Math.max(most, ++now);
      await pause(40);
      now--;
    },
  };
  return { spec: { ...spec, services }, most: () => most };
}

async function run(spec: TestSpec, count: number, key: string): Promise<readonly unknown[]> {
  const instance = await sandbox.open(spec);
  const outcomes = await instance.processEvents(numbered(count));
  await instance.close();
  return outcomes.map((outcome) => propertiesOf(outcome)[key]);
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

describe('counters of a plugin are exact, and in the order of the events', () => {
  const ways: readonly (readonly [name: string, body: string])[] = [
    ['with storage', `const n = await storage.get('n', 0) + 1; await storage.set('n', n); event.properties.count = n`],
    [
      'with storage, after its own pause',
      `await null; const n = await storage.get('n', 0) + 1; await null; await storage.set('n', n); event.properties.count = n`,
    ],
    ['with the cache', `const n = await cache.get('n', 0) + 1; await cache.set('n', n); event.properties.count = n`],
    ['with a cursor', `await utils.cursor.init('n'); event.properties.count = await utils.cursor.increment('n')`],
    [
      'with keys of several kinds',
      `const [n, m] = await Promise.all([storage.get('n', 0), cache.get('m', 0)])
       await Promise.all([storage.set('n', n + 1), cache.set('m', m + 1)]); event.properties.count = (n + m) / 2 + 1`,
    ],
  ];
  it.each(ways)('%s', async (_name, body) => {
    const code = `exports.processEvent = async (event, { storage, cache, utils }) => { ${body}; return event }`;
    expect(await run(slow(specOf(code)).spec, 100, 'count')).toEqual(upTo(100));
  });

  it('across calls and next to events that do not wait', async () => {
    const code = `exports.processEvent = (event, { storage }) => event.properties.n % 2 ? event : (async () => {
      const n = await storage.get('n', 0) + 1; await storage.set('n', n); event.properties.count = n; return event })()`;
    const instance = await sandbox.open(slow(specOf(code)).spec);
    const calls = await Promise.all([0, 1, 2].map(() => instance.processEvents(numbered(20))));
    const counts = calls.flat().flatMap((outcome) => (outcome.kind === 'changed' ? [propertiesOf(outcome)] : []));
    expect(counts.map(({ count }) => count).sort((a, b) => Number(a) - Number(b))).toEqual(upTo(30));
    await instance.close();
  });

  it('although no event awaits its writes', async () => {
    const code = `exports.processEvent = async (event, { storage }) => {
      const n = await storage.get('n', 0) + 1; storage.set('n', n); event.properties.count = n; return event }`;
    expect(await run(slow(specOf(code)).spec, 100, 'count')).toEqual(upTo(100));
  });
});

describe('events that call out', () => {
  it('run concurrently, at most ten of them; results keep their order', async () => {
    const code = `exports.processEvent = async (event) => {
      await posthog.capture('x'); event.properties.count = event.properties.n + 1; return event }`;
    const { spec, most } = slow(specOf(code));
    expect(await run(spec, 200, 'count')).toEqual(upTo(200));
    expect(most()).toBe(10);
  });

  it('run concurrently after a storage look-up, which is exact', async () => {
    const code = `exports.processEvent = async (event, { storage }) => {
      const n = await storage.get('n', 0) + 1; await storage.set('n', n); event.properties.count = n
      await posthog.capture('x'); return event }`;
    const { spec, most } = slow(specOf(code));
    expect(await run(spec, 100, 'count')).toEqual(upTo(100));
    expect(most()).toBeGreaterThan(3);
  });

  it('let others start during a storage look-up, too', async () => {
    const code = `exports.processEvent = async (event, { storage }) => {
      const [n] = await Promise.all([storage.get('k' + event.properties.n, 0), posthog.capture('x')])
      event.properties.count = n + 1; return event }`;
    const { spec, most } = slow(specOf(code));
    expect(await run(spec, 50, 'count')).toEqual(Array.from({ length: 50 }, () => 1));
    expect(most()).toBe(10);
  });

  it('may wait for each other', async () => {
    const code = `let waiting = []
      exports.processEvent = async (event) => {
        await new Promise((resolve) => {
          waiting.push(resolve)
          if (waiting.length === 5) { for (const each of waiting) each(); waiting = [] }
        })
        event.properties.count = event.properties.n + 1; return event }`;
    expect(await run(specOf(code), 50, 'count')).toEqual(upTo(50));
  });
});
