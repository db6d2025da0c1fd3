import { expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { createCacheStore } from './cache-store.ts';
import { createInstanceServices } from './instance-services.ts';
import { createPluginLogs, listLogs } from './plugin-logs.ts';
import { createOwnMetrics, listOwnMetrics } from './own-metrics.ts';
import { createStorage } from './storage.ts';

const now = Date.parse('2026-11-20T10:00:00.000Z');
const clock = { now: () => now };
const silent = { warn: () => undefined };

it('each config has its own storage, log and metrics; configs of one plugin in a project share a cache', async () => {
  await using store = await tempMetadata();
  const logs = createPluginLogs(store.db, { days: 7, clock, log: silent });
  const metrics = createOwnMetrics(store.db, { clock, log: silent });
  const asked: unknown[] = [];
  const servicesOf = createInstanceServices({
    storage: (configId, projectId) => createStorage(store.db, { configId, projectId }),
    cache: createCacheStore({ bytesMax: 1_000_000, now: clock.now }),
    capture: async ({ configId }, { event }) => void asked.push([configId, event]),
    enqueueJob: async ({ configId }, { name }) => void asked.push([configId, name]),
    api: async ({ projectId }, { path }) => {
      asked.push([projectId, path]);
      return { status: 200, statusText: '', headers: {}, body: new Uint8Array(), url: path };
    },
    logs,
    metrics,
  });
  const [first, second] = [7, 8].map((configId) =>
    servicesOf({ configId, projectId: 1, pluginKey: '4', mask: (text) => text.replaceAll(`secret${configId}`, '***') }),
  );
  if (first === undefined || second === undefined) throw new Error('expected two');

  await first.storage.set('k', 1);
  await first.cache.set('k', 'shared');
  expect([await second.storage.get('k'), await second.cache.get('k')]).toEqual([undefined, 'shared']);

  const line = { time: now, level: 'INFO', source: 'CONSOLE', instanceId: 'i' } as const;
  first.log({ ...line, message: 'mine is secret7' });
  second.log({ ...line, message: 'mine is secret8' });
  first.metric('n', 'sum', 2);
  await first.capture({ event: 'e', distinctId: 'd', timestamp: '', properties: {}, cause: null, hops: 0 });
  await second.enqueueJob({ name: 'j', payload: {}, runAt: now });
  await second.api({ method: 'GET', path: '/api/x', headers: {}, body: null });
  await logs.close();
  await metrics.close();

  const of = { projectId: 1, configId: 7 };
  expect((await listLogs(store.db, of, { limit: 10 })).map(({ message }) => message)).toEqual(['mine is ***']);
  expect(await listOwnMetrics(store.db, { ...of, from: now, to: now + 1 })).toMatchObject([{ name: 'n', value: 2 }]);
  expect(asked).toEqual([
    [7, 'e'],
    [8, 'j'],
    [1, '/api/x'],
  ]);
});
