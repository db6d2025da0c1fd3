import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { PluginStorage } from '../host.ts';
import type { IsolatedSandbox, SandboxOptions } from './create-sandbox.ts';
import { errorOf, eventOf, openTestSandbox, propertiesOf, specOf } from '../../../test/support/sandbox.ts';

const opened: IsolatedSandbox[] = [];
function open(options: Partial<SandboxOptions> = {}): IsolatedSandbox {
  const sandbox = openTestSandbox(options);
  opened.push(sandbox);
  return sandbox;
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()));
});

/** For tests that leave it as it is: starting its process takes longer than most of them. */
const shared = openTestSandbox();
afterAll(() => shared.close());

const counting = `let runs = 0
  exports.setupPlugin = ({ config }) => console.log('setup ' + config.name)
  exports.teardownPlugin = () => console.log('teardown')
  exports.processEvent = async (event, { storage }) => {
    event.properties.runs = ++runs
    event.properties.stored = await storage.get('count', 0) + 1
    await storage.set('count', event.properties.stored)
    return event }`;

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the plugin process', () => {
  it('starts on first use, and ends on closing', async () => {
    const sandbox = open();
    expect(sandbox.pid).toBeUndefined();
    await sandbox.describe({ pluginName: 'Probe', code: '' });
    const pid = sandbox.pid ?? 0;
    expect(alive(pid)).toBe(true);
    await sandbox.close();
    expect(alive(pid)).toBe(false);
    await expect(sandbox.describe({ pluginName: 'Probe', code: '' })).rejects.toThrow(/closed/);
  });

  it('responds while a plugin computes; a stopped process does not respond until it continues', async () => {
    const sandbox = open({ cpuMs: 5000 });
    const code =
      'exports.processEvent = (event) => { const end = Date.now() + 1500; while (Date.now() < end); return event }';
    const instance = await sandbox.open(specOf(code));
    expect(await sandbox.answers(2000)).toBe(true);
    let isComputing = true;
    const computing = instance.processEvents([eventOf('a')]).finally(() => (isComputing = false));
    await delay(100);
    expect(await sandbox.answers(100)).toBe(true);
    expect(isComputing).toBe(true);
    expect(await computing).toMatchObject([{ kind: 'unchanged' }]);
    const pid = sandbox.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    const answered = await sandbox.answers(100);
    process.kill(pid, 'SIGCONT');
    expect([answered, await sandbox.answers(2000)]).toEqual([false, true]);
  });

  it('a kill between two calls does not affect configs; their stored values remain', async () => {
    const sandbox = open();
    const spec = specOf(counting, { settings: { name: 'A' } });
    const instance = await sandbox.open(spec);
    const [before] = await instance.processEvents([eventOf('a')]);
    expect(propertiesOf(before)).toEqual({ runs: 1, stored: 1 });
    process.kill(sandbox.pid ?? 0, 'SIGKILL');
    const [after] = await instance.processEvents([eventOf('a')]);
    expect(propertiesOf(after)).toEqual({ runs: 1, stored: 2 });
    expect(sandbox.stats()).toMatchObject({ instances: 1, restarts: 1 });
    expect(spec.services.lines.map((line) => line.message)).toEqual(['setup A', 'setup A']);
  });

  it('a kill during a call loses and duplicates no result', async () => {
    const sandbox = open();
    const instance = await sandbox.open(
      specOf('exports.processEvent = (event) => { event.properties.done = event.properties.n; return event }'),
    );
    const work = instance.processEvents(Array.from({ length: 5000 }, (_, n) => eventOf('a', { n })));
    await delay(5);
    process.kill(sandbox.pid ?? 0, 'SIGKILL');
    const outcomes = await work;
    expect(outcomes.map((outcome) => propertiesOf(outcome)['done'])).toEqual(Array.from({ length: 5000 }, (_, n) => n));
  });

  it('a kill after an event has written to an undoable storage: it is processed again as if for the first time', async () => {
    const sandbox = open();
    const spec = specOf(`exports.processEvent = async (event, { storage }) => {
        await storage.set('last', event.properties.n)
        await storage.get('rest')
        return event }`);
    const kept = new Map<object, number>();
    const { storage } = spec.services;
    let writes = 0;
    let isKilled = false;
    const undoable: PluginStorage = {
      ...storage,
      forEvent: (event) => ({
        ...storage,
        set: async () => {
          kept.set(event, (kept.get(event) ?? 0) + 1);
          writes += 1;
        },
        // Between the write of an event and its result.
        get: async () => {
          if (writes >= 3 && !isKilled) isKilled = process.kill(sandbox.pid ?? 0, 'SIGKILL');
          return undefined;
        },
      }),
      takeBack: (event) => void kept.delete(event),
    };
    const instance = await sandbox.open({ ...spec, services: { ...spec.services, storage: undoable } });
    const events = Array.from({ length: 5 }, (_, n) => eventOf('a', { n }));
    const outcomes = await instance.processEvents(events);
    expect(outcomes.filter(({ kind }) => kind === 'failed').map(errorOf)).toEqual([]);
    expect(sandbox.stats().restarts).toBeGreaterThan(0);
    expect(writes).toBeGreaterThan(events.length);
    expect(events.map((event) => kept.get(event))).toEqual([1, 1, 1, 1, 1]);
  });

  it('two kills during an event do not count against it: only one that crashes twice on its own is poison', async () => {
    const sandbox = open({ cpuMs: 5000 });
    const instance = await sandbox.open(
      specOf(`exports.processEvent = (event) => {
        const end = Date.now() + 1500; while (Date.now() < end);
        event.properties.done = true; return event }`),
    );
    const work = instance.processEvents([eventOf('a')]);
    for (let kills = 1; kills <= 2; kills++) {
      await delay(200);
      process.kill(sandbox.pid ?? 0, 'SIGKILL');
      const isAtWorkAgain = (): boolean => sandbox.stats().restarts === kills && sandbox.stats().instances === 1;
      await expect.poll(isAtWorkAgain, { interval: 5 }).toBe(true);
    }
    expect((await work).map(propertiesOf)).toEqual([{ done: true }]);
  });

  it('ends with the service, even when that is killed', async () => {
    const fixture = fileURLToPath(new URL('./dying-service.fixture.ts', import.meta.url));
    const service = spawn(process.execPath, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<number>((resolve) => {
      service.stdout.once('data', (line: Buffer) => resolve(Number(line.toString())));
    });
    expect(alive(pid)).toBe(true);
    service.kill('SIGKILL');
    for (let tries = 0; tries < 1000 && alive(pid); tries++) await delay(20);
    expect(alive(pid)).toBe(false);
  });

  it('receives no environment variables', async () => {
    const sandbox = open();
    await sandbox.describe({ pluginName: 'Probe', code: '' });
    const environment = readFileSync(`/proc/${sandbox.pid}/environ`, 'utf8').split('\0').filter(Boolean);
    expect(environment).toEqual(['TZ=UTC']);
  });
});

describe('opening and closing configs', () => {
  it('reports the start of setupPlugin only after the code is loaded', async () => {
    let begun = 0;
    const open = (code: string) => shared.open(specOf(code), () => (begun += 1));
    await expect(open('throw new Error("no code")')).rejects.toThrow('no code');
    expect(begun).toBe(0);
    await expect(open('exports.setupPlugin = () => { throw new Error("no setup") }')).rejects.toThrow('no setup');
    expect(begun).toBe(1);
  });

  it('setup failures contain the message of the plugin', async () => {
    const failing = shared.open(specOf('exports.setupPlugin = async () => { throw new RetryError("no answer yet") }'));
    await expect(failing).rejects.toMatchObject({
      kind: 'setup',
      method: 'setupPlugin',
      message: 'no answer yet',
      retry: true,
    });
    const endless = shared.open(specOf('exports.setupPlugin = () => { for (;;); }'));
    await expect(endless).rejects.toMatchObject({ kind: 'time', method: 'setupPlugin' });
    expect(shared.stats().instances).toBe(0);
  });

  it('teardown runs once, after a setup that succeeded', async () => {
    const spec = specOf(counting, { settings: { name: 'A' } });
    const instance = await shared.open(spec);
    await instance.close();
    await instance.close();
    expect(spec.services.lines.map((line) => line.message)).toEqual(['setup A', 'teardown']);
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(errorOf(outcome)).toMatchObject({ kind: 'aborted' });
  });

  it('those idle longest are evicted, and return with their stored values', async () => {
    const sandbox = open({ instancesMax: 3 });
    const specs = Array.from({ length: 6 }, (_, index) => specOf(counting, { settings: { name: `${index}` } }));
    const instances = await Promise.all(specs.map((spec) => sandbox.open(spec)));
    for (let round = 1; round <= 3; round++) {
      for (const instance of instances) {
        const [outcome] = await instance.processEvents([eventOf('a')]);
        expect(propertiesOf(outcome)['stored']).toBe(round);
        expect(sandbox.stats().instances).toBeLessThanOrEqual(3);
      }
    }
    expect(specs[0]?.services.lines.filter((line) => line.message === 'teardown').length).toBeGreaterThanOrEqual(2);
  });

  it('long idle instances are evicted', async () => {
    let now = 0;
    const sandbox = open({ idleMs: 400, clock: { now: () => now } });
    const spec = specOf(counting, { settings: { name: 'A' } });
    const instance = await sandbox.open(spec);
    await delay(250);
    expect(sandbox.stats().instances).toBe(1);
    now = 500;
    for (let tries = 0; tries < 1000 && spec.services.lines.length < 2; tries++) await delay(20);
    expect(spec.services.lines.map((line) => line.message)).toEqual(['setup A', 'teardown']);
    expect(sandbox.stats().instances).toBe(0);
    const [outcome] = await instance.processEvents([eventOf('a')]);
    expect(propertiesOf(outcome)).toEqual({ runs: 1, stored: 1 });
  });

  it('configs of one program share nothing', async () => {
    const code =
      'exports.processEvent = (event, { global }) => { event.properties.n = global.n = (global.n || 0) + 1; return event }';
    const one = await shared.open(specOf(code));
    const two = await shared.open(specOf(code));
    await one.processEvents([eventOf('a'), eventOf('a')]);
    const [outcome] = await two.processEvents([eventOf('a')]);
    expect(propertiesOf(outcome)).toEqual({ n: 1 });
  });
});

describe('calls', () => {
  const hasty = openTestSandbox({ waitMs: 100 });
  afterAll(() => hasty.close());
  const code = `exports.jobs = { add: (payload, meta) => meta ? { sum: payload.a + payload.b } : { only: Object.keys(payload).includes('config') } }
    exports.runEveryMinute = async (meta) => { await posthog.capture('tick', { at: meta.config.at }); return 'done' }
    exports.onEvent = (event) => { if (event.event === 'bad') throw new RetryError('later'); console.log(event.event + JSON.stringify(event.$set)) }
    exports.exportEvents = (events, meta) => { console.log(events.map((each) => each.event).join()) }`;
  it('jobs, schedules, onEvent and exportEvents receive their arguments', async () => {
    const spec = specOf(code, { settings: { at: 'noon' } });
    const instance = await shared.open(spec);
    expect(await instance.call({ kind: 'job', name: 'add', payload: { a: 1, b: 2 } })).toEqual({ sum: 3 });
    expect(await instance.call({ kind: 'job', name: 'add', payload: null })).toEqual({ only: true });
    expect(await instance.call({ kind: 'scheduled', name: 'runEveryMinute' })).toBe('done');
    expect(spec.services.captured).toMatchObject([{ event: 'tick', properties: { at: 'noon' }, cause: null, hops: 0 }]);
    const events = [eventOf('one', { $set: { a: 1 } }), eventOf('two')];
    await instance.call({ kind: 'onEvent', events });
    await instance.call({ kind: 'exportEvents', events });
    expect(spec.services.lines.map((line) => line.message)).toEqual(['one{"a":1}', 'twoundefined', 'one,two']);
    const failing = instance.call({ kind: 'onEvent', events: [eventOf('bad'), eventOf('three')] });
    await expect(failing).rejects.toMatchObject({ kind: 'thrown', method: 'onEvent', retry: true, message: 'later' });
    expect(spec.services.lines.at(-1)?.message).toBe('threeundefined');
    await expect(instance.call({ kind: 'job', name: 'gone', payload: null })).rejects.toThrow(/to have gone/);
  });

  it('end on timeout, and when cancelled', async () => {
    const spec = specOf('exports.jobs = { wait: async (_, { storage }) => storage.get("x") }');
    const storage = { ...spec.services.storage, get: () => delay(3000, undefined, { ref: false }) };
    const instance = await hasty.open({ ...spec, services: { ...spec.services, storage } });
    const late = instance.call({ kind: 'job', name: 'wait', payload: {} }, { timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ kind: 'time', method: 'wait' });
    const given = instance.call({ kind: 'job', name: 'wait', payload: {} }, { signal: AbortSignal.timeout(50) });
    await expect(given).rejects.toMatchObject({ kind: 'aborted' });
  });

  it('closing a config ends its calls', async () => {
    const spec = specOf('exports.jobs = { wait: async (_, { storage }) => storage.get("x") }');
    const storage = { ...spec.services.storage, get: () => delay(3000, undefined, { ref: false }) };
    const instance = await hasty.open({ ...spec, services: { ...spec.services, storage } });
    const call = instance.call({ kind: 'job', name: 'wait', payload: {} });
    const [ended] = await Promise.allSettled([call, delay(50).then(() => instance.close())]);
    expect(ended).toMatchObject({ status: 'rejected', reason: { kind: 'aborted' } });
  });
});
