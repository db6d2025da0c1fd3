import { expect, it } from 'vitest';
import type { Lane } from '../../log/eventlog.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { healthChecks, type HealthDeps } from './health.ts';
import { hostThread, type HostedThread } from './thread-host.ts';

const limits = { backlogEventsMax: 1000, backlogBytesMax: 10_000 };
const well = async () => ({ ok: true, detail: '' });

/** Creates checks of healthy components, with threads that were never started. */
function checks(change: Partial<HealthDeps>) {
  const thread = (name: HostedThread['name']) => {
    const entry = new URL('./import-process.ts', import.meta.url);
    const data = {} as HostedThread['data'];
    return hostThread({ name, entry, data }, { metrics: createMetrics(), log: createLog('silent'), answers: {} });
  };
  return healthChecks({
    metadata: well,
    store: { health: well },
    plugins: { health: well },
    disk: well,
    storedParts: undefined,
    pipeline: thread('pipeline'),
    imports: thread('imports'),
    stopping: new AbortController().signal,
    ages: { seconds: () => 0 },
    logSilentSeconds: () => 0,
    eventLog: { backlog: () => ({ records: 0, events: 0, bytes: 0 }) },
    settings: { ...limits, roles: ['capture', 'pipeline', 'api', 'jobs'] },
    ...change,
  });
}

it('reports that the import process is restarting, and that it is optional', async () => {
  const detail = expect.stringMatching(/import process .* is being restarted/) as unknown;
  expect(await checks({})['imports']?.()).toEqual({ ok: false, optional: true, detail });
});

it('is not ready without the pipeline thread', async () => {
  const detail = expect.stringMatching(/pipeline thread .* is being restarted/) as unknown;
  expect(await checks({})['pipeline']?.()).toEqual({ ok: false, detail });
});

it('is ready despite damaged parts, and names them', async () => {
  const detail = 'Stored events are damaged: …';
  const found = await checks({ storedParts: () => ({ ok: false, detail }) })['stored_parts']?.();
  expect(found).toEqual({ ok: false, optional: true, detail });
});

it('is not ready on a full disk if it has to write', async () => {
  const disk = async () => ({ ok: false, detail: 'The disk is full' });
  expect(await checks({ disk })['disk']?.()).toEqual({ ok: false, detail: 'The disk is full' });
  expect(checks({ disk, settings: { ...limits, roles: ['api'] } })['disk']).toBeUndefined();
});

it('is ready without the plugin process that jobs need, and names it', async () => {
  const health = async () => ({ ok: false, detail: 'it does not answer' });
  const found = await checks({ plugins: { health } })['plugins']?.();
  expect(found).toEqual({ ok: false, optional: true, detail: 'it does not answer' });
});

it('reports how many events wait and for how long, and is not ready when a lane is full', async () => {
  const waiting = { records: 2, events: 999, bytes: 50 };
  const idle = { records: 0, events: 0, bytes: 0 };
  const backlog = (lane: Lane) => (lane === 'live' ? waiting : idle);
  const deps = { eventLog: { backlog }, ages: { seconds: (lane: Lane) => (lane === 'live' ? 63 : 0) } };
  const eventLog = checks(deps)['event_log'];
  expect(await eventLog?.()).toEqual({
    ok: true,
    detail: '999 events of the live lane are waiting, the oldest for 63 s.',
    waiting: {
      live: { events: 999, bytes: 50, oldest_seconds: 63 },
      historical: { events: 0, bytes: 0, oldest_seconds: 0 },
    },
  });
  waiting.events = 1000;
  const full = await eventLog?.();
  expect(full).toMatchObject({ ok: false, detail: expect.stringContaining('live lane is full') as unknown });
  waiting.events = 1;
  waiting.bytes = 10_000;
  expect(await eventLog?.()).toMatchObject({ ok: false });
});

it.each(['capture', 'pipeline', 'jobs'] as const)(
  'a process with the role %s is not ready while Kafka is unavailable',
  async (role) => {
    const settings = { ...limits, roles: [role] };
    const eventLogAfter = (seconds: number) => checks({ settings, logSilentSeconds: () => seconds })['event_log']?.();
    const detail = 'The server of the event log has not answered for 7 s: no events are accepted until it does.';
    expect(await eventLogAfter(7.2)).toMatchObject({ ok: false, detail });
    // A partition gets another leader.
    expect(await eventLogAfter(3)).toMatchObject({ ok: true, detail: '' });
  },
);

it.each([
  ['capture', 'disk event_log metadata process'],
  ['pipeline', 'disk event_log event_store metadata pipeline process'],
  ['api', 'event_store metadata plugins process'],
  ['jobs', 'disk event_log event_store imports metadata plugins process'],
] as const)('a process with the role %s reports the components that the role needs: %s', (role, parts) => {
  const mine = { pipeline: undefined, imports: undefined };
  const thread = { health: well };
  const own = {
    ...mine,
    ...(role === 'pipeline' && { pipeline: thread }),
    ...(role === 'jobs' && { imports: thread }),
  };
  expect(
    Object.keys(checks({ ...own, settings: { ...limits, roles: [role] } }))
      .toSorted()
      .join(' '),
  ).toBe(parts);
});

it('is not ready as soon as it is stopping', async () => {
  const stop = new AbortController();
  const ready = checks({ stopping: stop.signal })['process'];
  expect(await ready?.()).toEqual({ ok: true });
  stop.abort();
  expect(await ready?.()).toMatchObject({ ok: false, detail: expect.stringContaining('is stopping') as unknown });
});
