import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from './create-sandbox.ts';
import { errorOf, eventOf, openTestSandbox, propertiesOf, specOf } from '../../../test/support/sandbox.ts';

let sandbox: IsolatedSandbox;
beforeAll(() => {
  sandbox = openTestSandbox();
});
afterAll(() => sandbox.close());

const numbered = (count: number, poisoned: readonly number[] = []) =>
  Array.from({ length: count }, (_, index) => eventOf(poisoned.includes(index) ? 'poison' : 'fine', { index }));

/** Marks every event, and does something to the poison ones. */
const poison = (code: string): string => `exports.processEvent = (event) => {
  if (event.event === 'poison') { ${code} }
  event.properties.seen = true
  return event }`;

describe('only the poison event fails', () => {
  const cases: readonly (readonly [name: string, code: string, kind: string, message: RegExp])[] = [
    ['an endless loop', 'for (;;);', 'time', /computed for more than 200 ms/],
    [
      'an endless loop in a getter',
      'Object.defineProperty(event, "uuid", { get() { for (;;); } })',
      'time',
      /computed/,
    ],
    ['an endless loop in toJSON', 'event.properties.x = { toJSON() { for (;;); } }', 'time', /computed/],
    ['an endless loop in a proxy', 'event.properties = new Proxy({}, { ownKeys() { for (;;); } })', 'time', /computed/],
    ['a catastrophic regex', '/^(a+)+$/.test("a".repeat(60) + "b")', 'time', /computed/],
    ['deep recursion', 'const down = () => down() + 1; down()', 'thrown', /call stack/],
    ['a bomb of arrays', 'const all = []; for (;;) all.push(new Array(1e6).fill(0.5))', 'memory', /its memory limit/],
    [
      'a bomb of buffers',
      'const all = []; for (;;) all.push(new ArrayBuffer(1e7).slice(0))',
      'thrown',
      /allocation failed/,
    ],
    [
      'a text of a gigabyte',
      'event.properties.text = "ab".repeat(2 ** 28).slice(1).split("")',
      'memory|thrown|time',
      /./,
    ],
  ];
  // On a busy machine filling the memory may exceed an event's time limit.
  const roomy = openTestSandbox({ cpuMs: 5000, waitMs: 30_000, processBytesMax: 536_870_912 });
  afterAll(() => roomy.close());
  it.each(cases)('%s', async (_name, code, kind, message) => {
    const instance = await (kind === 'time' ? sandbox : roomy).open(specOf(poison(code)));
    const outcomes = await instance.processEvents(numbered(20, [4, 11]));
    expect(outcomes.flatMap((outcome, index) => (outcome.kind === 'changed' ? [] : [index]))).toEqual([4, 11]);
    for (const index of [4, 11]) {
      expect(errorOf(outcomes[index])).toMatchObject({
        kind: expect.stringMatching(new RegExp(`^(${kind})$`)),
        message: expect.stringMatching(message),
      });
    }
    expect(propertiesOf(outcomes[12])).toEqual({ index: 12, seen: true });
    await instance.close();
  });

  it('an uninterruptible event costs the process, and no other event', async () => {
    const neighbour = await sandbox.open(specOf(poison('')));
    const instance = await sandbox.open(specOf(poison('let x = 3n; for (;;) x = x * x;')));
    const [outcomes, beside] = await Promise.all([
      instance.processEvents(numbered(3, [1])),
      neighbour.processEvents(numbered(300)),
    ]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['changed', 'failed', 'changed']);
    expect(errorOf(outcomes[1])).toMatchObject({
      kind: 'time',
      message: expect.stringMatching(/could not be interrupted/),
    });
    expect(beside.every((outcome) => outcome.kind === 'changed')).toBe(true);
    await Promise.all([instance.close(), neighbour.close()]);
  });

  it('memory outside the accounting of isolates costs the process, and no other event', async () => {
    const code =
      'const all = []; for (;;) { const b = new ArrayBuffer(8, { maxByteLength: 2 ** 31 }); b.resize(2 ** 31); new Uint8Array(b).fill(1); all.push(b) }';
    const instance = await roomy.open(specOf(poison(code)));
    const outcomes = await instance.processEvents(numbered(3, [1]));
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['changed', 'failed', 'changed']);
    expect(errorOf(outcomes[1])).toMatchObject({ kind: 'memory' });
    await instance.close();
  });

  it('after three consecutive ones the rest of the call is not tried', async () => {
    const instance = await sandbox.open(specOf(poison('for (;;);')));
    const outcomes = await instance.processEvents(
      numbered(
        500,
        Array.from({ length: 500 }, (_, index) => index),
      ),
    );
    expect(errorOf(outcomes[2]).message).toMatch(/computed for more than/);
    expect(errorOf(outcomes[3]).message).toMatch(/in a row/);
    expect(errorOf(outcomes[499])).toMatchObject({ kind: 'time', message: expect.stringMatching(/in a row/) });
    await instance.close();
  });
});

describe('waiting', () => {
  const waits: readonly (readonly [name: string, code: string, message: RegExp])[] = [
    ['a promise that is never settled', 'return new Promise(() => {})', /deadlocked/],
    [
      'an async function that waits for it',
      'return (async () => { await new Promise(() => {}); return event })()',
      /deadlocked/,
    ],
    ['a thenable that never calls back', 'return { then() {} }', /deadlocked/],
    [
      'a storm of microtasks',
      'const storm = () => Promise.resolve().then(storm); return storm()',
      /computed for more than/,
    ],
  ];
  it.each(waits)('%s fails immediately, and the others succeed', async (_name, code, message) => {
    const instance = await sandbox.open(specOf(poison(code)));
    const outcomes = await instance.processEvents(numbered(25, [3]));
    expect(errorOf(outcomes[3])).toMatchObject({ kind: 'time', message: expect.stringMatching(message) });
    expect(outcomes.filter((outcome) => outcome.kind === 'changed')).toHaveLength(24);
    await instance.close();
  });

  it('an event that waits too long fails, and those next to it succeed', async () => {
    const spec = specOf(`exports.processEvent = async (event, { storage }) => {
      event.properties.n = await storage.get(event.event); return event }`);
    const never = new Promise<undefined>(() => undefined);
    const get = spec.services.storage.get.bind(spec.services.storage);
    const storage = { ...spec.services.storage, get: (key: string) => (key === 'poison' ? never : get(key)) };
    const hasty = openTestSandbox({ waitMs: 300 });
    const instance = await hasty.open({ ...spec, services: { ...spec.services, storage } });
    const outcomes = await instance.processEvents(numbered(30, [7]));
    expect(errorOf(outcomes[7])).toMatchObject({
      kind: 'time',
      message: expect.stringMatching(/300 ms, including waiting/),
    });
    expect(outcomes.filter((outcome) => outcome.kind === 'failed')).toHaveLength(1);
    await hasty.close();
  });
});

describe('concurrent calls', () => {
  it('are counted out of reach of a plugin that breaks its own built-ins', async () => {
    const spec = specOf(`Object.defineProperty(Map.prototype, 'size', { get: () => 0 })
      exports.processEvent = async (event, { storage }) => {
        const calls = Array.from({ length: 3000 }, (_, index) => storage.get('k' + index))
        const refused = (await Promise.allSettled(calls)).filter((call) => call.status === 'rejected')
        event.properties = { refused: refused.length, message: refused[0] && refused[0].reason.message }
        return event }`);
    let open = 0;
    let most = 0;
    const get = async (): Promise<undefined> => {
      most = Math.max(most, ++open);
      await delay(50);
      open--;
    };
    const storage = { ...spec.services.storage, get };
    const instance = await sandbox.open({ ...spec, services: { ...spec.services, storage } });
    const [first, second] = await instance.processEvents([eventOf('a'), eventOf('b')]);
    expect(most).toBe(1000);
    const message = 'expected at most 1000 concurrent calls, got one more (storage.get); wait for some of them';
    // The second one runs when the first one's calls have ended.
    expect([propertiesOf(first), propertiesOf(second)]).toEqual([
      { refused: 2000, message },
      { refused: 2000, message },
    ]);
    await instance.close();
  });
});

describe('data passed by the calls of one run', () => {
  it('is refused beyond the quota, unread and without a call to the service; the next run has a new quota', async () => {
    const code = `exports.processEvent = async (event) => {
      const refused = []
      for (const size of [600, 600, 300, 600, 10]) {
        try { await posthog.capture('size ' + size, { text: 'x'.repeat(size) }) } catch (error) { refused.push(error.message) }
      }
      event.properties = { refused }
      return event }`;
    const spec = specOf(code, { callCharsMax: 1500 });
    const instance = await sandbox.open(spec);
    const refused = 'expected calls to pass at most 1500 characters in a test, got more; store or send less';
    const sizes = ['size 600', 'size 300', 'size 10'];
    for (const sent of [sizes, [...sizes, ...sizes]]) {
      const [outcome] = await instance.processEvents([eventOf('a')]);
      expect(propertiesOf(outcome)).toEqual({ refused: [refused, refused] });
      expect(spec.services.captured.map(({ event }) => event)).toEqual(sent);
    }
    await instance.close();
  });

  it('is not renewed for code that continues from an earlier run', async () => {
    const code = `const storm = async () => {
      for (;;) { try { await posthog.capture('storm', { text: 'x'.repeat(600) }) } catch { return } } }
    exports.setupPlugin = () => { storm() }
    exports.processEvent = async (event) => { await Promise.all([storm(), storm()]); return event }`;
    const spec = specOf(code, { callCharsMax: 1700 });
    const instance = await sandbox.open(spec);
    await instance.processEvents([eventOf('a')]);
    expect(spec.services.captured.length).toBeLessThanOrEqual(4);
    await instance.close();
  });
});

describe('output', () => {
  it('a hundred lines of 8 KiB each, and a note about the rest', async () => {
    const spec = specOf(poison('for (let i = 0; i < 500; i++) console.log("x".repeat(20000))'));
    const instance = await sandbox.open(spec);
    await instance.processEvents(numbered(2, [0]));
    expect(spec.services.lines).toHaveLength(101);
    expect(Math.max(...spec.services.lines.map((line) => line.message.length))).toBeLessThan(8200);
    expect(spec.services.lines.at(-1)?.message).toMatch(/at most 100 lines/);
    await instance.close();
  });

  it('an event beyond 8 MiB fails', async () => {
    const instance = await sandbox.open(specOf(poison('event.properties.x = "x".repeat(9e6)')));
    const outcomes = await instance.processEvents(numbered(2, [0]));
    expect(errorOf(outcomes[0])).toMatchObject({ kind: 'result', message: expect.stringMatching(/at most 8388608/) });
    expect(outcomes[1]?.kind).toBe('changed');
    await instance.close();
  });
});
