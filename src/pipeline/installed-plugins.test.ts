/** Installed plugins in the pipeline, with a fake sandbox: when they run, what is counted, what is stored. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bumpConfigRevision } from '../stores/metadata/config-revision.ts';
import { memoryStorage } from '../../test/support/transformation-host.ts';
import { definePlugin } from '../plugins/plugin.ts';
import {
  SandboxError,
  type EventOutcome,
  type InstanceServices,
  type InstanceSpec,
  type Sandbox,
  type SandboxEvent,
} from '../plugins/sandbox/sandbox.ts';
import type { StepDeps } from './transform/make-step.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';

const installed = definePlugin({
  kind: 'transformation',
  slug: 'installed',
  name: 'Installed',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: () => () => {
    throw new Error('expected the version in the sandbox to run');
  },
});

/** Behaviour of the fake sandbox, and counts of its instances. */
const play = {
  opened: 0,
  closed: 0,
  /** Runs before the plugin's code. */
  load: async (): Promise<void> => {},
  open: async (_spec: InstanceSpec): Promise<void> => {},
  process: async (_events: readonly SandboxEvent[]): Promise<EventOutcome[]> => [],
};
const sandbox: Sandbox = {
  describe: async () => ({ methods: [], scheduledTasks: [], jobs: [], metrics: {} }),
  open: async (spec, onSetup) => {
    play.opened += 1;
    await play.load();
    onSetup?.();
    await play.open(spec);
    return {
      described: { methods: ['processEvent'], scheduledTasks: [], jobs: [], metrics: {} },
      processEvents: (events) => play.process(events),
      call: async () => null,
      close: async () => void (play.closed += 1),
    };
  },
  close: async () => {},
};
const services: InstanceServices = {
  storage: memoryStorage(),
  cache: { get: async () => undefined } as unknown as InstanceServices['cache'],
  capture: async () => {},
  enqueueJob: async () => {},
  api: async () => {
    throw new Error('no API in this test');
  },
  log: () => {},
  metric: () => {},
};

const readyMs = 300;
let loadProgram: StepDeps['loadProgram'];
let bench: Bench;
let configId: number;
beforeEach(async () => {
  Object.assign(play, { opened: 0, closed: 0, load: async () => {}, open: async () => {}, process: tagging });
  loadProgram = async () => ({ pluginName: 'Installed', code: '' });
  const steps: Partial<StepDeps> = { sandbox, loadProgram: (id) => loadProgram(id), servicesOf: () => services };
  bench = await createBench({ plugins: [installed], steps, readyMs });
  configId = await bench.addTransformation('installed');
  await change({ plugin_version_id: 1 });
});
afterEach(() => bench[Symbol.asyncDispose]());

async function tagging(events: readonly SandboxEvent[]): Promise<EventOutcome[]> {
  return events.map(({ uuid: id, event, distinctId, timestamp, propertiesText, markers }) => {
    const properties = { ...(JSON.parse(propertiesText) as object), tagged: true };
    const succeeded = [...(markers?.succeeded ?? []), `Installed (${configId})`];
    const text = JSON.stringify({ ...properties, $plugins_succeeded: succeeded, $plugins_failed: markers?.failed });
    return { kind: 'changed', uuid: id, event, distinctId, timestamp, propertiesText: text, movedTeam: false };
  });
}

async function change(columns: object): Promise<void> {
  const updated_at = new Date(receivedAt + ++made * 1000).toISOString();
  await bench.db
    .updateTable('plugin_configs')
    .set({ updated_at, ...columns })
    .where('id', '=', configId)
    .execute();
  await bumpConfigRevision(bench.db);
}

let made = 0;
async function send(count: number, event: object = {}): Promise<void> {
  const timestamp = new Date(receivedAt).toISOString();
  const batch = Array.from({ length: count }, () =>
    Object.assign({ event: 'seen', distinct_id: 'p', uuid: uuid(++made), timestamp, properties: {} }, event),
  );
  await bench.append('live', { batch }, { events: count });
  await bench.drain();
}
const counts = () =>
  bench.db.selectFrom('plugin_metrics').select(['succeeded', 'failed', 'dropped', 'skipped']).executeTakeFirst();
const errorOf = async () =>
  (await bench.db.selectFrom('plugin_configs').select('error').where('id', '=', configId).executeTakeFirstOrThrow())
    .error;
const stored = () => bench.recording.rows.map(({ properties }) => JSON.parse(properties) as Record<string, unknown>);

describe('an installed plugin in the pipeline', () => {
  it('sees every event, even if its code could not be read from the store at first', async () => {
    const load = loadProgram;
    let failures = 0;
    loadProgram = async (id) => {
      failures += 1;
      if (failures <= 3) throw new Error('the database is unavailable');
      return await load(id);
    };
    await send(3);
    await send(2);
    expect(stored().map(({ tagged }) => tagged)).toEqual([true, true, true, true, true]);
    expect(await errorOf()).toBe('');
  });

  it('runs on all events of a window together, and the text that it returns is stored', async () => {
    const sizes: number[] = [];
    play.process = async (events) => {
      sizes.push(events.length);
      return tagging(events);
    };
    await send(30);
    expect(sizes).toEqual([30]);
    const [first] = stored();
    expect(first).toEqual({ tagged: true, $plugins_succeeded: [`Installed (${configId})`], $plugins_failed: [] });
    expect(stored()).toHaveLength(30);
    expect(await counts()).toEqual({ succeeded: 30, failed: 0, dropped: 0, skipped: 0 });
  });

  it('is opened once for all windows and again for a new version, and closed when disabled', async () => {
    await send(1);
    await send(1);
    expect([play.opened, play.closed]).toEqual([1, 0]);
    await change({ plugin_version_id: 2 });
    await send(1);
    expect([play.opened, play.closed]).toEqual([2, 1]);
    await change({ enabled: 0 });
    await send(1);
    expect([play.opened, play.closed]).toEqual([2, 2]);
    expect(stored().map((each) => each['tagged'])).toEqual([true, true, true, undefined]);
  });

  it('delays events for a limited time during its setup; after that they pass as skipped until it is ready', async () => {
    const ready = Promise.withResolvers<void>();
    play.open = () => ready.promise;
    await send(3);
    expect(stored().map((each) => each['tagged'])).toEqual([undefined, undefined, undefined]);
    expect(await counts()).toEqual({ succeeded: 0, failed: 0, dropped: 0, skipped: 3 });
    ready.resolve();
    await send(1);
    expect(stored().at(-1)).toMatchObject({ tagged: true });
  });

  it('delays events for as long as the plugin process takes to start', async () => {
    play.load = () => sleep(3 * readyMs);
    await send(3);
    expect(stored().map((each) => each['tagged'])).toEqual([true, true, true]);
  });

  it('is waited for if the service is suspended during its setup', async () => {
    play.open = async () => {
      await sleep(readyMs / 3);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * readyMs);
      // Messages that arrived in the meantime are read after the timers that are due.
      await readFile(import.meta.filename);
    };
    await send(3);
    expect(stored().map((each) => each['tagged'])).toEqual([true, true, true]);
  });

  it('does not delay the stop of the pipeline during a long setup', async () => {
    play.open = () => new Promise(() => undefined);
    await bench.append('live', { batch: [{ event: 'seen', distinct_id: 'p' }] });
    const pipeline = bench.start();
    await expect.poll(() => play.opened).toBe(1);
    await pipeline.stop();
    expect(stored()).toEqual([]);
  });

  it('stays enabled after a failed setup, with the reason, and events pass as skipped', async () => {
    play.open = async () => {
      throw new SandboxError('setup', 'no such key', { method: 'setupPlugin' });
    };
    await send(2);
    expect(await errorOf()).toBe('no such key');
    expect(await counts()).toMatchObject({ skipped: 2 });
    await send(1);
    expect(play.opened).toBe(1);
    play.open = async () => {};
    await change({ name: 'again' });
    await send(1);
    expect(stored().at(-1)).toMatchObject({ tagged: true });
    expect(await errorOf()).toBe('');
  });

  it('counts session recordings as skipped and does not get them', async () => {
    await send(1, { event: '$snapshot' });
    expect(stored()).toEqual([{}]);
    expect(await counts()).toMatchObject({ succeeded: 0, skipped: 1 });
  });

  it('records a failure with its event, once per kind', async () => {
    const error = new SandboxError('thrown', 'no amount', {
      method: 'processEvent',
      errorName: 'TypeError',
      pluginStack: 'at processEvent (index.js:3:1)',
    });
    play.process = async (events) => events.map(() => ({ kind: 'failed', error }));
    await send(4, { properties: { plan: 'pro' } });
    const rows = await bench.db.selectFrom('plugin_errors').selectAll().execute();
    expect(rows).toMatchObject([{ config_id: configId, name: 'TypeError', method: 'processEvent', count: 4 }]);
    expect(rows[0]?.samples).toContain('"plan":"pro"');
    expect(await counts()).toMatchObject({ failed: 4 });
  });

  it('is suspended when it hangs: its error reports that, and is cleared when it recovers', async () => {
    const error = new SandboxError('time', 'took longer than 250 ms', { method: 'processEvent' });
    play.process = async (events) => events.map(() => ({ kind: 'failed', error }));
    await send(3);
    expect(await errorOf()).toContain('suspended');
    await send(2);
    expect(await counts()).toMatchObject({ failed: 3, skipped: 2 });
    const activities = await bench.db.selectFrom('activity_log').select(['activity', 'is_system']).execute();
    expect(activities).toEqual([{ activity: 'failed', is_system: 1 }]);
  });

  it('processed events are delivered to observing plugins in the transaction that stores them', async () => {
    await bench.db
      .updateTable('plugins')
      .set({ capabilities: JSON.stringify({ methods: ['processEvent', 'onEvent'], scheduled_tasks: [], jobs: [] }) })
      .execute();
    await change({});
    await send(2, { properties: { plan: 'pro' } });
    const jobs = await bench.db.selectFrom('jobs').select(['config_id', 'type', 'state', 'payload']).execute();
    expect(jobs).toMatchObject([{ config_id: configId, type: 'onEvent', state: 'queued' }]);
    const { events } = JSON.parse(jobs[0]?.payload ?? '{}') as { events: { propertiesText: string }[] };
    expect(events.map(({ propertiesText }) => JSON.parse(propertiesText) as object)).toMatchObject([
      { plan: 'pro', tagged: true },
      { plan: 'pro', tagged: true },
    ]);
  });
});
