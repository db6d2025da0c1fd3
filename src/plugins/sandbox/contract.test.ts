import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from './create-sandbox.ts';
import type { EventOutcome, SandboxEvent } from './sandbox.ts';
import { errorOf, eventOf, openTestSandbox, propertiesOf, specOf } from '../../../test/support/sandbox.ts';

let sandbox: IsolatedSandbox;
beforeAll(() => {
  sandbox = openTestSandbox();
});
afterAll(() => sandbox.close());

async function run(code: string, event: SandboxEvent): Promise<EventOutcome | undefined> {
  const instance = await sandbox.open(specOf(code));
  const [outcome] = await instance.processEvents([event]);
  await instance.close();
  return outcome;
}

const processing = (body: string): string => `exports.processEvent = (event, meta) => { ${body} }`;

describe('where exports are found', () => {
  const cases: readonly (readonly [name: string, code: string, methods: readonly string[]])[] = [
    ['exports', 'exports.processEvent = (e) => e', ['processEvent']],
    ['exports.default', 'exports.default = { processEvent: (e) => e }', ['processEvent']],
    ['module.exports', 'module.exports = { onEvent() {} }', ['onEvent']],
    [
      'all three at once',
      'exports.setupPlugin = () => 1; module.exports.onEvent = () => 1',
      ['setupPlugin', 'onEvent'],
    ],
    [
      'functions at top level',
      'function processEvent(e) { return e } async function setupPlugin() {}',
      ['setupPlugin', 'processEvent'],
    ],
    ['no functions at top level when something is exported', 'exports.jobs = {}; function processEvent() {}', []],
  ];
  it.each(cases)('%s', async (_name, code, methods) => {
    expect((await sandbox.describe({ pluginName: 'Probe', code })).methods).toEqual(methods);
  });

  it('schedules, jobs and metrics are reported, setupPlugin is not run', async () => {
    const code = `exports.setupPlugin = () => { throw new Error('must not run') }
      exports.runEveryMinute = () => 1; exports.runEveryCentury = () => 1
      exports.jobs = { fetchPage: () => 1, notOne: 5 }
      exports.metrics = { pages: 'sum', slowest: 'max' }`;
    expect(await sandbox.describe({ pluginName: 'Probe', code })).toEqual({
      methods: ['setupPlugin'],
      scheduledTasks: ['runEveryMinute'],
      jobs: ['fetchPage'],
      metrics: { pages: 'sum', slowest: 'max' },
    });
  });

  const refused: readonly (readonly [name: string, code: string, message: RegExp])[] = [
    ['syntax', 'exports.processEvent = (', /Unexpected|expected/i],
    ['an import that is not there', 'require("left-pad")', /left-pad/],
    ['a metric of no known type', 'exports.metrics = { pages: "average" }', /"pages".*average/],
    ['an error at top level', 'throw new RangeError("no good")', /no good/],
    ['an endless loop at top level', 'for (;;);', /computed/],
  ];
  it.each(refused)('a program that cannot be loaded has a reason: %s', async (_name, code, message) => {
    const error = await sandbox.describe({ pluginName: 'Probe', code }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'SandboxError', method: 'load', message: expect.stringMatching(message) });
  });

  it('a program runs in sloppy mode even when it asks for strict mode', async () => {
    const outcome = await run(
      `"use strict"; ${processing('undeclared = 5; event.properties.n = undeclared; return event')}`,
      eventOf('a'),
    );
    expect(propertiesOf(outcome)).toEqual({ n: 5 });
  });
});

describe('the result for an event', () => {
  it('an event as a plugin sees it', async () => {
    const code = processing(
      'event.properties = { seen: { ...event }, meta: Object.keys(meta).includes("config") }; return event',
    );
    const given = eventOf(
      'sign up',
      { $ip: '89.160.20.1', a: 1 },
      { markers: { succeeded: ['First (1)'], failed: ['Bad (2)'] } },
    );
    expect(propertiesOf(await run(code, given))).toMatchObject({
      meta: true,
      seen: {
        distinct_id: 'person-1',
        ip: '89.160.20.1',
        site_url: '',
        team_id: 7,
        now: '2026-11-21T10:00:01.000Z',
        event: 'sign up',
        uuid: '01900000-0000-7000-8000-000000000001',
        timestamp: '2026-11-21T10:00:00.123456Z',
        properties: { $ip: '89.160.20.1', a: 1, $plugins_succeeded: ['First (1)'], $plugins_failed: ['Bad (2)'] },
      },
    });
  });

  const results: readonly (readonly [
    name: string,
    body: string,
    before: object,
    after: object | 'dropped' | 'unchanged',
  ])[] = [
    ['nothing happens', 'return event', { a: 1, $set: { b: [1, null] } }, 'unchanged'],
    ['nothing happens to an event without properties', 'return event', {}, 'unchanged'],
    [
      'nothing changes, existing markers',
      'return event',
      { a: 1, $plugins_succeeded: [], $plugins_failed: [] },
      'unchanged',
    ],
    ['null', 'return null', {}, 'dropped'],
    ['nothing returned', 'event.properties.a = 1', {}, 'dropped'],
    ['a promise of null', 'return Promise.resolve(null)', {}, 'dropped'],
    ['a property more', 'event.properties.b = 2; return event', { a: 1 }, { a: 1, b: 2 }],
    ['a promise', 'return Promise.resolve().then(() => ({ ...event, properties: { c: 1 } }))', { a: 1 }, { c: 1 }],
    [
      'a new object keeps omitted fields',
      'return { event: event.event, distinct_id: event.distinct_id, properties: { d: 1 } }',
      { a: 1 },
      { d: 1 },
    ],
    [
      '$set next to the properties wins',
      'event.$set = { a: 1, b: 1 }; return event',
      { $set: { b: 2, c: 2 } },
      { $set: { b: 1, c: 2, a: 1 } },
    ],
    ['$set_once beside the properties', 'event.$set_once = { a: 1 }; return event', {}, { $set_once: { a: 1 } }],
    ['ip taken away', 'event.ip = null; return event', { $ip: '1.2.3.4', a: 1 }, { a: 1 }],
    ['ip deleted', 'delete event.ip; return event', { $ip: '1.2.3.4', a: 1 }, { a: 1 }],
    ['ip given', 'event.ip = "5.6.7.8"; return event', {}, { $ip: '5.6.7.8' }],
    [
      '$ip takes precedence over ip',
      'event.ip = "5.6.7.8"; event.properties.$ip = "9.9.9.9"; return event',
      { $ip: '1.2.3.4' },
      { $ip: '9.9.9.9' },
    ],
  ];
  it.each(results)('%s', async (_name, body, before, after) => {
    const outcome = await run(processing(body), eventOf('a', before));
    expect(outcome?.kind === 'changed' ? propertiesOf(outcome) : outcome?.kind).toEqual(after);
  });

  it('numbers beyond the precision of JavaScript survive a plugin that changes nothing', async () => {
    const given = eventOf('a', {}, { propertiesText: '{"id": 12345678901234567890, "share": 1.0}' });
    expect(await run(processing('return event'), given)).toEqual({ kind: 'unchanged' });
  });

  it('name, person, time and uuid may change; an unchanged time keeps its microseconds', async () => {
    const body =
      'event.event = "b"; event.distinct_id = "c"; event.uuid = "0190AAAA-0000-7000-8000-000000000002"; return event';
    expect(await run(processing(body), eventOf('a'))).toMatchObject({
      kind: 'changed',
      event: 'b',
      distinctId: 'c',
      uuid: '0190aaaa-0000-7000-8000-000000000002',
      timestamp: '2026-11-21T10:00:00.123456Z',
    });
    expect(await run(processing('event.timestamp = new Date(0); return event'), eventOf('a'))).toMatchObject({
      timestamp: '1970-01-01T00:00:00.000Z',
    });
  });

  it('another project is refused, the other changes stay', async () => {
    const outcome = await run(processing('event.team_id = 8; event.properties.a = 1; return event'), eventOf('a'));
    expect(outcome).toMatchObject({ kind: 'changed', movedTeam: true });
    expect(propertiesOf(outcome)).toEqual({ a: 1 });
  });

  it('the label is appended to the succeeded ones, also for a new object', async () => {
    const instance = await sandbox.open(
      specOf(processing('return { ...event, properties: { a: 1 } }'), { label: 'Probe (9)' }),
    );
    const [outcome] = await instance.processEvents([
      eventOf('a', {}, { markers: { succeeded: ['A (1)'], failed: ['B (2)'] } }),
    ]);
    expect(outcome).toMatchObject({
      propertiesText: '{"a":1,"$plugins_succeeded":["A (1)","Probe (9)"],"$plugins_failed":["B (2)"]}',
    });
    await instance.close();
  });

  const failures: readonly (readonly [name: string, body: string, kind: string, message: RegExp])[] = [
    ['a number', 'return 5', 'result', /expected processEvent to return the event.*got 5/],
    ['an array', 'return [event]', 'result', /got an array/],
    ['no name', 'event.event = ""; return event', 'result', /name, got an empty text/],
    ['no person', 'event.distinct_id = 5; return event', 'result', /distinct_id, got 5/],
    ['no uuid', 'event.uuid = "five"; return event', 'result', /UUID.*"five"/],
    ['no time', 'event.timestamp = "soon"; return event', 'result', /timestamp, got "soon"/],
    ['no properties', 'delete event.properties; return event', 'result', /properties, got nothing/],
    ['properties that are not an object', 'event.properties = "a"; return event', 'result', /got "a"/],
    ['properties that JSON cannot hold', 'event.properties.self = event; return event', 'result', /circular/i],
    ['an error', 'throw new TypeError("not good")', 'thrown', /^not good$/],
    ['a rejection', 'return Promise.reject(new Error("not good"))', 'thrown', /^not good$/],
    ['a text that is thrown', 'throw "not good"', 'thrown', /^not good$/],
    ['nothing that is thrown', 'throw undefined', 'thrown', /nothing/],
    ['an object that is thrown', 'throw { code: 5 }', 'thrown', /"code":5/],
    [
      'an error whose message throws',
      'throw Object.defineProperty(new Error(), "message", { get() { throw 1 } })',
      'thrown',
      /Error/,
    ],
    ['an error of a megabyte', 'throw new Error("x".repeat(1e6))', 'thrown', /^x{100,2000}$/],
  ];
  it.each(failures)('fails with a message: %s', async (_name, body, kind, message) => {
    const error = errorOf(await run(processing(body), eventOf('a')));
    expect(error).toMatchObject({ kind, method: 'processEvent', message: expect.stringMatching(message) });
  });

  it('a stack contains only lines of the plugin', async () => {
    const { pluginStack, errorName } = errorOf(await run(processing('null.x'), eventOf('a')));
    expect(errorName).toBe('TypeError');
    expect(pluginStack).toMatch(/index\.js:1/);
    expect(pluginStack).not.toMatch(/guest|node:|\/src\//);
  });

  it('RetryError is recognised', async () => {
    expect(errorOf(await run(processing('throw new RetryError("later")'), eventOf('a')))).toMatchObject({
      errorName: 'RetryError',
      retry: true,
    });
  });

  it('processEventBatch replaces processEvent, one event at a time', async () => {
    const code = `exports.processEventBatch = async (events, meta) => {
      if (events.length !== 1) throw new Error('more than one')
      if (events[0].event === 'drop') return []
      events[0].properties.batch = typeof meta.config
      return events }`;
    const instance = await sandbox.open(specOf(code));
    const [kept, dropped] = await instance.processEvents([eventOf('a'), eventOf('drop')]);
    expect(propertiesOf(kept)).toEqual({ batch: 'object' });
    expect(dropped).toEqual({ kind: 'dropped' });
    await instance.close();
  });
});
