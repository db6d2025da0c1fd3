import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from './create-sandbox.ts';
import {
  errorOf,
  eventOf,
  openTestSandbox,
  propertiesOf,
  specOf,
  type TestSpec,
} from '../../../test/support/sandbox.ts';

/** A promise that is rejected and that nothing waits for is a line in the plugin's log, and changes nothing else. */
let sandbox: IsolatedSandbox;
beforeAll(() => {
  sandbox = openTestSandbox();
});
afterAll(() => sandbox.close());

const errorLines = ({ services }: TestSpec): readonly string[] =>
  services.lines.filter(({ level, source }) => level === 'ERROR' && source === 'PLUGIN').map((line) => line.message);

const numbered = (count: number) => Array.from({ length: count }, (_, n) => eventOf('a', { n }));

describe('while processing events', () => {
  const ways: readonly (readonly [name: string, code: string, logged: RegExp])[] = [
    ['an Error', 'Promise.reject(new Error("x marks"))', /^Error: x marks \(a rejected promise is not handled/],
    ['an own error', 'Promise.reject(new RetryError("later"))', /^RetryError: later/],
    ['a text', 'Promise.reject("only words")', /^only words/],
    ['nothing', 'Promise.reject()', /^undefined/],
    ['an object', 'Promise.reject({ code: 5 })', /object that is not an Error/],
    ['an async function', '(async () => null.x)()', /^TypeError: Cannot read/],
    ['after a pause', '(async () => { await null; throw new Error("after") })()', /^Error: after/],
    ['a capture without a name', 'posthog.capture("")', /^TypeError: .*name of an event/],
    ['a key that is too long', 'meta.storage.get("k".repeat(600))', /key/],
    ['a value that cannot be stored', 'meta.storage.set("k", 5n)', /^TypeError: .*BigInt/],
    ['a request to where it may not', 'fetch("http://127.0.0.1:1/")', /^FetchError: /],
  ];
  it.each(ways)('%s: the events are as the plugin returned them', async (_name, code, logged) => {
    const spec = specOf(`exports.processEvent = (event, meta) => { ${code}; event.properties.a = 1; return event }`);
    const instance = await sandbox.open(spec);
    const outcomes = await instance.processEvents(numbered(2));
    expect(outcomes.map(propertiesOf)).toEqual([
      { n: 0, a: 1 },
      { n: 1, a: 1 },
    ]);
    // Rejections from outside may arrive after the events.
    for (let tries = 0; tries < 100 && errorLines(spec).length === 0; tries++) await instance.processEvents([]);
    await instance.processEvents(numbered(1));
    expect(errorLines(spec)[0]).toMatch(logged);
    await instance.close();
  });

  it('one line for an entry, however many there are', async () => {
    const spec = specOf('exports.processEvent = (event) => { Promise.reject(new Error("many")); return event }');
    const instance = await sandbox.open(spec);
    await instance.processEvents(numbered(50));
    expect(errorLines(spec)).toHaveLength(1);
    await instance.processEvents(numbered(50));
    expect(errorLines(spec)).toHaveLength(2);
    await instance.close();
  });

  it('async events next to it continue, and failing ones have their own errors', async () => {
    const code = `exports.processEvent = async (event, { storage }) => {
      Promise.reject(new Error('aside'))
      await storage.set('k', event.properties.n)
      Promise.reject(new Error('aside again'))
      if (event.properties.n % 3 === 1) throw new TypeError('own ' + event.properties.n)
      event.properties.stored = await storage.get('k')
      return event }`;
    const spec = specOf(code);
    const instance = await sandbox.open(spec);
    const outcomes = await instance.processEvents(numbered(30));
    const told = outcomes.map((each) => (each.kind === 'failed' ? errorOf(each).message : propertiesOf(each)));
    expect(told).toEqual(numbered(30).map((_, n) => (n % 3 === 1 ? `own ${n}` : { n, stored: n })));
    expect(errorLines(spec).length).toBeGreaterThan(30);
    await instance.close();
  });

  it('no message can imitate a timeout, and a real timeout stays one', async () => {
    const code = `exports.processEvent = (event) => {
      Promise.reject(new Error('Script execution timed out.'))
      if (event.event === 'poison') for (;;);
      event.properties.a = 1
      return event }`;
    const spec = specOf(code);
    const instance = await sandbox.open(spec);
    const [first, poison, last] = await instance.processEvents([eventOf('a'), eventOf('poison'), eventOf('a')]);
    expect(propertiesOf(first)).toEqual({ a: 1 });
    expect(errorOf(poison)).toMatchObject({ kind: 'time', message: expect.stringMatching(/computed for more than/) });
    expect(propertiesOf(last)).toEqual({ a: 1 });
    expect(errorLines(spec)[0]).toMatch(/^Error: Script execution timed out/);
    await instance.close();
  });

  it('an invalid request is refused at the same time', async () => {
    const spec = specOf('exports.setupPlugin = () => { Promise.reject(new Error("aside")) }');
    const instance = await sandbox.open(spec);
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(errorOf(outcome)).toMatchObject({ kind: 'thrown', message: expect.stringMatching(/processEvent/) });
    expect(errorLines(spec)).toHaveLength(1);
    await instance.close();
  });
});

describe('elsewhere', () => {
  it('while loading and in setupPlugin', async () => {
    const spec = specOf(`Promise.reject(new Error('at top level'))
      exports.setupPlugin = async () => { posthog.capture(''); await null }
      exports.processEvent = (event) => event`);
    const instance = await sandbox.open(spec);
    expect(instance.described.methods).toEqual(['setupPlugin', 'processEvent']);
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(outcome).toEqual({ kind: 'unchanged' });
    expect(errorLines(spec)).toMatchObject([
      expect.stringMatching(/^Error: at top level/),
      expect.stringMatching(/^TypeError: posthog\.capture/),
    ]);
    await instance.close();
  });

  it('a setupPlugin that fails on its own still fails', async () => {
    const code = 'exports.setupPlugin = () => { Promise.reject(new Error("aside")); throw new Error("no setup") }';
    await expect(sandbox.open(specOf(code))).rejects.toMatchObject({ kind: 'setup', message: 'no setup' });
  });

  it('in jobs, schedules and onEvent, whose results and errors are unchanged', async () => {
    const spec = specOf(`
      exports.jobs = { fine: () => { Promise.reject(new Error('aside 1')); return 5 },
        failing: () => { Promise.reject(new Error('aside 2')); throw new RetryError('own') } }
      exports.runEveryMinute = async (meta) => { meta.storage.set('k', 5n); await meta.storage.get('k'); return 'done' }
      exports.onEvent = (event) => { posthog.capture(''); console.log(event.event) }`);
    const instance = await sandbox.open(spec);
    expect(await instance.call({ kind: 'job', name: 'fine', payload: {} })).toBe(5);
    const failing = instance.call({ kind: 'job', name: 'failing', payload: {} });
    await expect(failing).rejects.toMatchObject({ kind: 'thrown', message: 'own', retry: true });
    expect(await instance.call({ kind: 'scheduled', name: 'runEveryMinute' })).toBe('done');
    await instance.call({ kind: 'onEvent', events: [eventOf('one'), eventOf('two')] });
    expect(spec.services.lines.filter((line) => line.source === 'CONSOLE').map((line) => line.message)).toEqual([
      'one',
      'two',
    ]);
    expect(errorLines(spec)).toMatchObject([
      expect.stringMatching(/aside 1/),
      expect.stringMatching(/aside 2/),
      expect.stringMatching(/BigInt/),
      expect.stringMatching(/posthog\.capture/),
    ]);
    await instance.close();
  });

  it('a promise that is handled in time is not logged', async () => {
    const spec = specOf(`exports.processEvent = async (event, { storage }) => {
      const rejected = storage.get('k'.repeat(600)).catch(() => 'caught')
      event.properties.got = await rejected
      return event }`);
    const instance = await sandbox.open(spec);
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(propertiesOf(outcome)).toEqual({ got: 'caught' });
    expect(errorLines(spec)).toEqual([]);
    await instance.close();
  });
});
