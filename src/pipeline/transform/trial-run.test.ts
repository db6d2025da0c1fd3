import { describe, expect, it } from 'vitest';
import { secretMask, type PluginField, type SettingValues } from '../../plugins/fields.ts';
import type { TransformationPlugin } from '../../plugins/plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { memoryStorage, testHost } from '../../../test/support/transformation-host.ts';
import { SandboxError, type InstanceSpec, type Sandbox, type SandboxInstance } from '../../plugins/sandbox/sandbox.ts';
import { readTrialEvent, type TrialEvent } from './trial-event.ts';
import { toTrialRecord } from './trial-record.ts';
import { openTrial, runTrial, type TrialConfig, type TrialDeps } from './trial-run.ts';

const now = Date.UTC(2026, 10, 20);
const event = (): TrialEvent =>
  readTrialEvent({ event: 'seen', distinct_id: 'p', properties: { plan: 'pro', list: [1] } }, now);
const fields: readonly PluginField[] = [
  { key: 'name', name: 'Name', type: 'string', required: true },
  { key: 'token', name: 'Token', type: 'string', secret: true },
];

type Create = TransformationPlugin['create'];

function pluginOf(create: Create): TransformationPlugin {
  const base = { slug: 'x', name: 'X', description: '', version: '1', kind: 'transformation', fields } as const;
  const seen = { event: 'e', distinct_id: 'd', properties: {} };
  return { ...base, example: { settings: {}, before: seen, after: seen }, create };
}

const closed: number[] = [];
const stored = new Map<string, JsonValue>();
const unused = async (): Promise<never> => {
  throw new Error('expected no call');
};

/** Creates a sandbox whose instances run the given function. */
function fakeSandbox(run: (spec: InstanceSpec) => SandboxInstance['processEvents']): Sandbox {
  const described = { methods: ['processEvent'], scheduledTasks: [], jobs: [], metrics: {} };
  return {
    describe: async () => described,
    close: async () => {},
    open: async (spec) => ({
      described,
      processEvents: run(spec),
      call: unused,
      close: async () => void closed.push(spec.configId),
    }),
  };
}

function parts(creates: Readonly<Record<string, Create>>, more: Partial<TrialDeps> = {}): TrialDeps {
  return {
    findPlugin: (slug) => {
      const create = creates[slug];
      return create && pluginOf(create);
    },
    sandbox: fakeSandbox(() => unused),
    loadProgram: async () => ({ pluginName: 'x', code: '' }),
    loadFiles: async () => new Map(),
    storageOf: () => memoryStorage(stored),
    openCache: () => () => testHost().cache,
    fetch: testHost().fetch,
    geoip: { geoip: undefined, geoipProblem: 'no database' },
    taskMs: 5000,
    now: () => now,
    ...more,
  };
}

const config = (id: number, slug: string, more: Partial<TrialConfig> = {}): TrialConfig => ({
  id,
  name: `Config ${id}`,
  projectId: 1,
  slug,
  pluginId: 1,
  pluginName: slug,
  pluginVersionId: null,
  fields,
  settings: { name: 'given' },
  attached: new Set(),
  isStep: true,
  ...more,
});

const set =
  (key: string, value: JsonValue): Create =>
  () =>
  (each) => {
    each.properties[key] = value;
    return each;
  };

describe('a trial', () => {
  it('shows the event after every step, and what each step changed', async () => {
    const { before, after, outcome, steps } = await runTrial(
      parts({ a: set('plan', 'free'), b: () => (each) => ({ ...each, event: 'renamed' }) }),
      [config(1, 'a'), config(2, 'b')],
      event(),
    );
    expect(before.properties).toEqual({ plan: 'pro', list: [1] });
    expect(outcome).toBe('kept');
    expect(steps.map((step) => [step.configId, step.name, step.outcome, step.error])).toEqual([
      [1, 'Config 1', 'kept', null],
      [2, 'Config 2', 'kept', null],
    ]);
    expect(steps[0]?.diff).toEqual([{ path: '/properties/plan', op: 'replace', before: 'pro', after: 'free' }]);
    expect(steps[1]?.diff).toEqual([{ path: '/event', op: 'replace', before: 'seen', after: 'renamed' }]);
    expect(steps[0]?.after).toMatchObject({ event: 'seen', properties: { plan: 'free' } });
    expect(after).toMatchObject({ event: 'renamed', properties: { $plugins_succeeded: ['a (1)', 'b (2)'] } });
  });

  it('runs a step only for events that pass its filter, of which the step itself sees nothing', async () => {
    const seen: SettingValues[] = [];
    const noting: Create = (settings) => {
      seen.push(settings);
      return (each) => ({ ...each, event: 'renamed' });
    };
    const filtered = (events: string[]) => config(1, 'a', { settings: { name: 'n', $filter: { events } } });
    const [passing, excluded] = [
      await runTrial(parts({ a: noting }), [filtered(['se*'])], event()),
      await runTrial(parts({ a: noting }), [filtered(['other'])], event()),
    ];
    expect([passing.outcome, passing.after?.event]).toEqual(['kept', 'renamed']);
    expect([excluded.outcome, excluded.after?.event]).toEqual(['skipped', 'seen']);
    expect(excluded.steps[0]?.error?.message).toBe('the event does not pass "$filter"');
    for (const settings of seen) expect(settings).not.toHaveProperty('$filter');
  });

  it('ends with the step that drops the event', async () => {
    const { after, outcome, steps } = await runTrial(
      parts({ a: () => () => null, b: set('x', 1) }),
      [config(1, 'a'), config(2, 'b')],
      event(),
    );
    expect([after, outcome, steps.length]).toEqual([null, 'dropped', 1]);
    expect(steps[0]).toMatchObject({ outcome: 'dropped', after: null, diff: [] });
  });

  it('continues after a failed step without its edits, and shows the cause without secrets', async () => {
    const failing: Create = (settings) => (each) => {
      each.properties['half'] = true;
      throw new TypeError(`no ${String(settings['token'])}`);
    };
    const { after, outcome, steps } = await runTrial(
      parts({ a: failing, b: set('x', 1) }),
      [config(1, 'a', { settings: { name: 'n', token: 's3cret' } }), config(2, 'b')],
      event(),
    );
    expect(steps[0]).toMatchObject({
      outcome: 'failed',
      diff: [],
      error: { name: 'TypeError', message: `no ${secretMask}`, stack: '' },
    });
    expect([outcome, after?.properties]).toEqual([
      'failed',
      { plan: 'pro', list: [1], x: 1, $plugins_succeeded: ['b (2)'], $plugins_failed: ['a (1)'] },
    ]);
  });

  it.each<[string, Partial<TrialConfig>, string]>([
    ['a missing setting', { settings: {} }, 'missing required setting "name"'],
    ['an unknown plugin', { slug: 'gone' }, 'expected the plugin "gone" to be a transformation'],
  ])('of a config with %s reports it', async (_name, more, message) => {
    const { after, steps } = await runTrial(parts({ a: set('x', 1) }), [config(1, 'a', more)], event());
    expect(steps[0]?.outcome).toBe('failed');
    expect(steps[0]?.error?.message).toContain(message);
    expect(after?.properties).toEqual({ plan: 'pro', list: [1] });
  });

  it('of a config that only observes does nothing', async () => {
    const { steps } = await runTrial(parts({}), [config(1, 'a', { isStep: false })], event());
    expect(steps[0]).toMatchObject({ outcome: 'skipped', error: { message: expect.stringContaining('onEvent') } });
  });

  it('has no lasting effect: writes, captured events and jobs are only shown', async () => {
    stored.set('count', 5);
    const run = ({ services }: InstanceSpec): SandboxInstance['processEvents'] => {
      return async () => {
        await Promise.all([services.storage.increment('count', 1), services.storage.increment('count', 1)]);
        await services.storage.set('token', { is: 's3cret' });
        await services.storage.delete('gone');
        expect(await services.storage.getMany(['count', 'gone', 'token'])).toEqual(
          new Map<string, JsonValue>([
            ['count', 7],
            ['token', { is: 's3cret' }],
          ]),
        );
        await services.capture({
          event: 'more',
          distinctId: 'p',
          timestamp: '',
          properties: { t: 's3cret' },
          cause: null,
          hops: 0,
        });
        await services.enqueueJob({ name: 'later', payload: {}, runAt: now });
        services.log({ time: now, level: 'INFO', source: 'CONSOLE', message: 'token s3cret', instanceId: '' });
        services.metric('seen', 'sum', 1);
        await expect(services.api({ method: 'POST', path: '/api/x?token=1', headers: {}, body: null })).rejects.toThrow(
          'POST /api/x: a test does not call',
        );
        return [{ kind: 'unchanged' }];
      };
    };
    const settings: SettingValues = { name: 'n', token: 's3cret' };
    const { steps } = await runTrial(
      parts({}, { sandbox: fakeSandbox(run) }),
      [config(7, 'a', { pluginVersionId: 3, settings })],
      event(),
    );
    expect(steps[0]).toMatchObject({
      outcome: 'kept',
      diff: [],
      storage: { count: 7, token: { is: secretMask }, gone: null },
      captured: [{ event: 'more', properties: { t: secretMask } }],
      jobs: [{ name: 'later', runAt: now }],
      logs: [{ level: 'INFO', message: `token ${secretMask}` }],
      metrics: [{ name: 'seen', kind: 'sum', value: 1 }],
    });
    expect(stored).toEqual(new Map([['count', 5]]));
    await expect.poll(() => closed.includes(7)).toBe(true);
  });

  it("shows only the plugin's own stack", async () => {
    const error = new SandboxError('thrown', 'bad', {
      method: 'processEvent',
      errorName: 'RangeError',
      pluginStack: 'at processEvent (index.js:3:1)',
    });
    const sandbox = fakeSandbox(() => async () => [{ kind: 'failed', error }]);
    const { steps } = await runTrial(parts({}, { sandbox }), [config(1, 'a', { pluginVersionId: 3 })], event());
    expect(steps[0]?.error).toEqual({ name: 'RangeError', message: 'bad', stack: 'at processEvent (index.js:3:1)' });
  });

  it('ends a step that hangs; later steps have no time left, and the instance is closed afterwards', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const sandbox = fakeSandbox(() => async () => {
      await released;
      return [{ kind: 'dropped' }];
    });
    const { outcome, steps, after } = await runTrial(
      parts({ b: set('x', 1) }, { sandbox, taskMs: 50 }),
      [config(31, 'a', { pluginVersionId: 3 }), config(32, 'b')],
      event(),
    );
    expect(outcome).toBe('failed');
    expect(steps.map((step) => [step.outcome, step.error?.name])).toEqual([
      ['failed', 'TimeoutError'],
      ['skipped', 'TimeoutError'],
    ]);
    expect(after?.properties).toEqual({ plan: 'pro', list: [1] });
    release();
    await expect.poll(() => closed.includes(31)).toBe(true);
  });
});

describe('a trial of several events', () => {
  it('sets up each config once, keeps its stored values for the next event, and shows what each event added', async () => {
    let opened = 0;
    const run = ({ services }: InstanceSpec): SandboxInstance['processEvents'] => {
      opened += 1;
      services.log({ time: now, level: 'INFO', source: 'CONSOLE', message: 'ready', instanceId: '' });
      return async () => {
        await services.storage.increment('seen', 1);
        return [{ kind: 'unchanged' }];
      };
    };
    stored.clear();
    const trial = openTrial(parts({}, { sandbox: fakeSandbox(run) }), [config(51, 'a', { pluginVersionId: 3 })]);
    const [first, second] = [await trial.run(event()), await trial.run(event())];
    await trial.close();
    expect(opened).toBe(1);
    expect([first.steps[0], second.steps[0]]).toMatchObject([
      { logs: [{ message: 'ready' }], storage: { seen: 1 } },
      { logs: [], storage: { seen: 2 } },
    ]);
    expect(closed).toContain(51);
  });
});

describe('the event of a trial', () => {
  it('is accepted as clients send it and as the API shows it', () => {
    const uuid = '0190A6B3-6F1E-7C3C-9F6B-3D6C5A0F7A11';
    const sent = { event: 'e', properties: { distinct_id: 7, $set: { a: 1, b: 1 } }, $set: { b: 2 }, ip: '1.2.3.4' };
    expect(readTrialEvent({ ...sent, uuid }, now)).toEqual({
      uuid: uuid.toLowerCase(),
      event: 'e',
      distinct_id: '7',
      timestamp: '2026-11-20T00:00:00.000000Z',
      properties: { distinct_id: 7, $set: { a: 1, b: 2 }, $ip: '1.2.3.4' },
    });
    const shown = { id: uuid.toLowerCase(), event: 'e', distinct_id: 'p', timestamp: '2026-01-01T00:00:00.123456Z' };
    expect(readTrialEvent({ ...shown, properties: {}, person: null }, now)).toEqual({
      uuid: shown.id,
      event: 'e',
      distinct_id: 'p',
      timestamp: shown.timestamp,
      properties: {},
    });
    expect(readTrialEvent({ event: 'e', distinct_id: 'p', timestamp: '2026-01-01T01:00+01:00' }, now).timestamp).toBe(
      '2026-01-01T00:00:00.000000Z',
    );
  });

  it.each<[string, unknown]>([
    ['a JSON object, got: "text"', 'text'],
    ['a text "event", the name, got: none', {}],
    ['a text "distinct_id", got: none', { event: 'e' }],
    ['an object "properties", got: [1]', { event: 'e', distinct_id: 'd', properties: [1] }],
    ['an object "$set", got: 1', { event: 'e', distinct_id: 'd', $set: 1 }],
    ['an ISO 8601 "timestamp", got: "soon"', { event: 'e', distinct_id: 'd', timestamp: 'soon' }],
    ['got: "1"', { event: 'e', distinct_id: 'd', uuid: '1' }],
  ])('is refused otherwise: expected %s', (message, given) => {
    expect(() => readTrialEvent(given as JsonValue, now)).toThrow(message);
  });

  it('shows at most 4 MB, lists what is truncated, and passes the complete event to the next step', async () => {
    const big = { text: 'x'.repeat(900_000) };
    const lengths: number[] = [];
    const sandbox = fakeSandbox(({ services }) => async (events) => {
      const refused = { capture: 0, job: 0, storage: 0 };
      for (let n = 0; n < 20; n++) {
        const captured = { event: 'e', distinctId: 'd', timestamp: '', properties: big, cause: null, hops: 0 };
        await services.capture(captured).catch(() => refused.capture++);
        await services.enqueueJob({ name: 'j', payload: big, runAt: now }).catch(() => refused.job++);
        await services.storage.set(`key ${n}`, big).catch(() => refused.storage++);
        services.log({ time: now, level: 'LOG', source: 'CONSOLE', message: big.text, instanceId: '' });
      }
      expect(Object.values(refused).every((count) => count > 15)).toBe(true);
      return events.map((each) => {
        lengths.push(each.propertiesText.length);
        const propertiesText = JSON.stringify({ text: 'y'.repeat(8_000_000) });
        return { ...each, kind: 'changed', propertiesText, movedTeam: false };
      });
    });
    const configs = [1, 2, 3].map((id) => config(id, 'x', { pluginVersionId: 1 }));
    const result = await runTrial(parts({}, { sandbox }), configs, event());
    expect(JSON.stringify(toTrialRecord(result)).length).toBeLessThan(4_100_000);
    expect(result.steps.map(({ outcome }) => outcome)).toEqual(['kept', 'kept', 'kept']);
    expect(result.steps.map(({ truncated }) => [...truncated].sort())).toEqual(
      Array.from({ length: 3 }, () => ['after', 'captured', 'diff', 'jobs', 'logs', 'storage']),
    );
    expect(result).toMatchObject({ truncated: ['after'], after: { event: 'seen', properties: {} } });
    expect(lengths.slice(1)).toEqual([8_000_011, 8_000_011]);
  });
});
