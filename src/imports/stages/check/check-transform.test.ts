import { afterAll, describe, expect, it } from 'vitest';
import { bytesOf, checkTest, type CheckTest, type LoadedEvent } from '../../../../test/support/check-stage.ts';
import { openTestSandbox } from '../../../../test/support/sandbox.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import type { CheckResult } from '../../run/results.ts';
import type { RunOptions } from '../../run/run.ts';
import { createTransform } from '../../transforming/open-transform.ts';
import { openSandboxRunner } from '../../transforming/sandbox-runner.ts';
import { stagingKeys } from '../../staging.ts';
import type { Transform } from '../../transform.ts';

const sandbox = openTestSandbox({ cpuMs: 60 });
afterAll(() => sandbox.close());

const name = 'Probe';
const options: Partial<RunOptions> = {
  format: 'mapping',
  formatOptions: {
    mapping: JSON.stringify({ event: 'event', distinct_id: 'user', timestamp: 'at', uuid: 'id' }),
  },
  rejectedMax: 1,
  transform: { name, hash: 'h' },
};

function transformOf(code: string, secret = '###'): Transform {
  const mask = (text: string): string => text.replaceAll(secret, '…');
  const spec = { sandbox, program: { pluginName: name, code }, configId: 1, projectId: 1, settings: {}, mask };
  return createTransform({
    name,
    projectId: 1,
    receivedAt: Date.UTC(2026, 10, 20),
    mask,
    openRunner: () => openSandboxRunner({ ...spec, name, attachments: new Map(), now: () => 0 }),
  });
}

/** Returns a record as one line; `more` is JSON text, so that digits are kept. */
function record(id: number, more = '', event = 'bought'): string {
  const at = new Date(Date.UTC(2024, 0, 1 + (id % 5), 12, 0, id % 60)).toISOString();
  return `{"id":"r${id}","event":"${event}","user":"u${id % 7}","at":"${at}","n":${id}${more}}`;
}

const records = (count: number, more = ''): string[] =>
  Array.from({ length: count }, (_, index) => record(index, more));

interface Checked extends AsyncDisposable {
  readonly test: CheckTest;
  readonly result: CheckResult;
  readonly events: readonly LoadedEvent[];
}

async function checked(code: string, lines: readonly string[], perSegment = 100): Promise<Checked> {
  const test = await checkTest(options);
  await test.stage('first', lines, perSegment);
  const result = await test.check({ openTransform: async () => transformOf(code) });
  return { test, result, events: await test.events(), [Symbol.asyncDispose]: async () => test[Symbol.asyncDispose]() };
}

const numberOf = ({ properties }: LoadedEvent): number => Number(properties['n']);
const counts = (result: CheckResult): unknown => {
  const { records: read, rejected, events, events_read, left_out, skipped } = result.totals;
  return { read, rejected, events, events_read, left_out, skipped };
};

describe('a run with a transform in code', () => {
  it('events are counted, shown and stored as the code changed them', async () => {
    await using run = await checked(
      `exports.processEvent = (event) => {
        event.event = 'Order ' + event.event
        event.distinct_id = 'x-' + event.distinct_id
        event.timestamp = new Date(Date.parse(event.timestamp) + 86400000).toISOString()
        event.properties.tens = Math.floor(event.properties.n / 10)
        return event
      }`,
      records(250),
    );
    expect(run.events).toHaveLength(250);
    expect(run.result.events.map(({ event, count }) => [event, count])).toEqual([['Order bought', 250]]);
    const first = run.events.find((event) => numberOf(event) === 0);
    expect(first).toMatchObject({ event: 'Order bought', distinct_id: 'x-u0', properties: { n: 0, tens: 0 } });
    expect(first?.timestamp).toBe('2024-01-02T12:00:00.000Z');
    expect(run.result.samples[0]).toMatchObject({ source: { event: 'bought' }, events: [{ event: 'Order bought' }] });
    expect(Object.keys(run.result.days)).toHaveLength(5);
  });

  it('a dropped event is counted under its own reason', async () => {
    await using run = await checked(
      `exports.processEvent = (event) => (event.properties.n % 4 === 0 ? null : event)`,
      records(200),
    );
    const reason = `dropped by the transform "${name}"`;
    expect(counts(run.result)).toEqual({
      read: 200,
      rejected: 0,
      events: 150,
      events_read: 200,
      left_out: { [reason]: 50 },
      skipped: { [reason]: 50 },
    });
  });

  it('an event at which the code throws is rejected with its message and the original, without its secret', async () => {
    const test = await checkTest(options);
    const lines = records(120);
    await test.stage('first', lines, 50);
    const code = `exports.processEvent = (event) => {
      if (event.properties.n === 77) throw new RangeError('no price for s3cret')
      return event
    }`;
    const result = await test.check({ openTransform: async () => transformOf(code, 's3cret') });
    expect(counts(result)).toMatchObject({ read: 120, rejected: 1, events: 120, events_read: 120, left_out: {} });
    const expected = {
      code: 'transform_failed',
      reason: `the transform "${name}": RangeError: no price for …`,
      line: 78,
      original: lines[77],
    };
    expect(await test.rejected()).toEqual([expect.objectContaining(expected)]);
    expect((await test.events()).map(numberOf).includes(77)).toBe(false);
    await test[Symbol.asyncDispose]();
  });

  it('an event at which the code hangs is stopped and rejected, and all others are accepted', async () => {
    await using run = await checked(
      `exports.processEvent = (event) => {
        if (event.properties.n % 30 < 5) for (;;);
        return event
      }`,
      records(60),
    );
    expect(counts(run.result)).toMatchObject({ rejected: 10, events: 60 });
    expect(run.result.errors.map(({ code, count }) => [code, count])).toEqual([['transform_stopped', 10]]);
    expect(run.events).toHaveLength(50);
  });

  it('a run whose events all hang fails with the reason', async () => {
    await using test = await checkTest(options);
    await test.stage('first', records(100), 100);
    const openTransform = async (): Promise<Transform> => transformOf(`exports.processEvent = () => { for (;;); }`);
    const failure = await test.check({ openTransform }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RunFailedError);
    expect(String(failure)).toMatch(
      /the transform "Probe" was stopped at 2\d events in a row: .*; correct it and start a new run/,
    );
  });

  it('code that cannot be set up, or that changes no events, fails the run with the reason', async () => {
    for (const [code, reason] of [
      ['exports.setupPlugin = () => { throw new Error("no table") }; exports.processEvent = (e) => e', /no table/],
      ['exports.onEvent = () => {}', /expected the transform "Probe" to export processEvent.*it exports: onEvent/],
    ] as const) {
      await using test = await checkTest(options);
      await test.stage('first', records(3), 10);
      await expect(test.check({ openTransform: async () => transformOf(code) })).rejects.toThrow(reason);
    }
  });

  it('the code keeps no state of earlier segments: a check after a crash gives the same', async () => {
    // Counts events in a variable, as careless code does.
    const code = `let seen = 0
      exports.processEvent = (event) => { event.properties.seen = ++seen; return event }`;
    await using whole = await checked(code, records(500), 120);
    for (const crashAt of [1, 3]) {
      await using test = await checkTest(options);
      await test.stage('first', records(500), 120);
      let segments = 0;
      const failpoint = (point: string): void => {
        if (point === 'import_rows_written' && (segments += 1) === crashAt) throw new Error('crash');
      };
      const openTransform = async (): Promise<Transform> => transformOf(code);
      await expect(test.check({ failpoint, openTransform })).rejects.toThrow('crash');
      expect((await test.check({ openTransform })).totals).toEqual(whole.result.totals);
      expect(await test.events()).toEqual(whole.events);
    }
  });

  it('a link has the time of the earliest record, in any order of the files, also after a crash', async () => {
    const made = { ...options, format: 'june', formatOptions: {} };
    const row = (of: number): string =>
      JSON.stringify({ name: 'Order', user_id: 'u1', anonymous_id: 'd1', timestamp: `2024-01-0${of}T00:00:00Z` });
    // The code renames links too.
    const code = `exports.processEvent = (event) => ({ ...event, event: 'my ' + event.event })`;
    const openTransform = async (): Promise<Transform> => transformOf(code);
    await using test = await checkTest(made);
    await test.stage('later', [row(9), row(5)], 1);
    await test.stage('earlier', [row(7), row(2), row(3)], 2);
    let segments = 0;
    const failpoint = (of: string): void => {
      if (of === 'import_segment_checked' && (segments += 1) === 3) throw new Error('crash');
    };
    await expect(test.check({ openTransform, failpoint })).rejects.toThrow('crash');
    const { totals } = await test.check({ openTransform });
    const links = (await test.events()).filter(({ event }) => event === 'my $identify');
    expect(links.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual(['2024-01-02']);
    expect(totals).toMatchObject({ records: 5, converted: 5, events: 6, duplicates: 0 });
  });

  it('links between ids that the code writes count as those of the source, also after a crash', async () => {
    const code = `exports.processEvent = (event) => {
      event.event = '$identify'
      event.properties.$anon_distinct_id = 'kiosk'
      return event
    }`;
    await using whole = await checked(code, records(60), 20);
    expect(whole.result.identity.ids_of_several_persons).toMatchObject([{ id: 'kiosk' }]);
    await using test = await checkTest(options);
    await test.stage('first', records(60), 20);
    const openTransform = async (): Promise<Transform> => transformOf(code);
    let segments = 0;
    const failpoint = (point: string): void => {
      if (point === 'import_segment_checked' && (segments += 1) === 2) throw new Error('crash');
    };
    await expect(test.check({ failpoint, openTransform })).rejects.toThrow('crash');
    expect((await test.check({ openTransform })).identity).toEqual(whole.result.identity);
  });

  it('the uuid depends on the record unless the code sets one', async () => {
    const uuid = '01900000-0000-7000-8000-0000000000aa';
    await using plain = await checked(`exports.processEvent = (event) => event`, records(3));
    await using run = await checked(
      `exports.processEvent = (event) => {
        event.properties.seen = true
        event.event = 'other'
        if (event.properties.n === 2) event.uuid = '${uuid}'
        return event
      }`,
      records(3),
    );
    const idOf = (events: readonly LoadedEvent[], n: number): unknown =>
      events.find((event) => numberOf(event) === n)?.uuid;
    expect([0, 1].map((n) => idOf(run.events, n))).toEqual([0, 1].map((n) => idOf(plain.events, n)));
    expect(idOf(run.events, 2)).toBe(uuid);
  });

  it('services that an import does not have are refused by name', async () => {
    await using run = await checked(
      `exports.processEvent = async (event, { storage, cache, geoip, jobs }) => {
        if (event.properties.n === 0) await storage.set('k', 1)
        if (event.properties.n === 1) await posthog.capture('more', {})
        if (event.properties.n === 2) await cache.set('k', 'v')
        return event
      }`,
      records(4),
    );
    expect(run.result.errors.map(({ reason }) => reason).toSorted()).toEqual([
      expect.stringContaining('posthog.capture: an import has none'),
      expect.stringContaining('storage.set: an import has none'),
    ]);
    expect(run.events.map(numberOf).toSorted()).toEqual([2, 3]);
  });

  it('digits beyond a double are kept where the code left or moved them, and rejected where it rounds them into a text', async () => {
    const numbers = ',"big":12345678901234567890123,"list":[0.12345678901234567891,-0],"huge":1e999,"small":7';
    await using run = await checked(
      `exports.processEvent = (event) => {
        const { properties } = event
        properties.seen = true
        if (properties.n === 1) { properties.moved = { to: properties.big }; delete properties.big }
        if (properties.n === 2) event.distinct_id = String(properties.big)
        if (properties.n === 3) properties.label = 'no ' + properties.list[0]
        if (properties.n === 4) properties.big = properties.small
        return event
      }`,
      records(5, numbers),
    );
    const texts = await run.test.lines();
    expect(texts.filter((text) => text.includes('"list":[0.12345678901234567891,-0],"huge":1e999,'))).toHaveLength(3);
    expect(texts.map((text) => /"n":(\d).*?("big":\d+|"to":\d+)/.exec(text)?.slice(1)).toSorted()).toEqual([
      ['0', '"big":12345678901234567890123'],
      ['1', '"to":12345678901234567890123'],
      ['4', '"big":7'],
    ]);
    expect((await run.test.rejected()).map(({ code, reason }) => [code, reason])).toEqual([
      ['transform_digits', expect.stringContaining('it wrote 12345678901234567890123 rounded into a text')],
      ['transform_digits', expect.stringContaining('it wrote 0.12345678901234567891 rounded into a text')],
    ]);
  });

  it('an event that the code left unchanged is identical to the last digit', async () => {
    const numbers = ',"big":12345678901234567890123,"zero":-0,"huge":1e999,"deep":{"x":[1.00000000000000000001]}';
    await using run = await checked(`exports.processEvent = (event) => event`, records(20, numbers));
    const texts = await run.test.lines();
    expect(texts.filter((text) => text.includes(numbers))).toHaveLength(20);
    const shown = (await bytesOf(run.test.staging, stagingKeys.check('r'))).toString();
    expect(shown.split(numbers)).toHaveLength(3);
  });
});
