import { expect, it } from 'vitest';
import { freePort } from '../../scripts/with-server.ts';
import { startStartingServer } from './starting-server.ts';

it('a service that is starting is alive, not ready, and asks clients to try again', async () => {
  const place = { host: '127.0.0.1', port: await freePort() };
  const server = await startStartingServer(place);
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${place.port}${path}`, init);
    return [answer.status, await answer.json(), answer.headers.get('retry-after')];
  };
  expect(await ask('/livez')).toEqual([200, { status: 'ok', starting: true }, null]);
  expect(await ask('/_health/?x=1')).toEqual([200, { status: 'ok', starting: true }, null]);
  const notReady = {
    status: 'unavailable',
    starting: true,
    checks: { process: { ok: false, detail: expect.any(String) } },
  };
  expect(await ask('/readyz?verbose')).toEqual([503, notReady, null]);
  const refusal = expect.objectContaining({ type: 'server_error', code: 'unavailable' });
  expect(await ask('/batch/', { method: 'POST', body: '{}' })).toEqual([503, refusal, '2']);
  await server.close();
  await server.close();
  const next = await startStartingServer(place);
  await next.close();
});
