import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fastify } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../tools/with-server.ts';
import { startStartingServer, type StartingServer } from './starting-server.ts';

const host = '127.0.0.1';

it('a starting service is alive, not ready, and asks clients to retry', async () => {
  const place = { host, port: await freePort() };
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

/** Every request uses a separate connection. */
async function livez(port: number): Promise<string> {
  const request = get({ host, port, path: '/livez', agent: false });
  const [response] = await once(request, 'response');
  return await text(response);
}

async function startPair(): Promise<{ readonly port: number; readonly old: StartingServer }> {
  const port = await freePort();
  return { port, old: await startStartingServer({ host, port }) };
}

it('a service takes over the port from its start without refusing a connection, and frees it at its end', async () => {
  const { port, old } = await startPair();
  const service = fastify();
  service.get('/livez', () => 'service');
  await service.ready();
  const answers: string[] = [];
  const over = new AbortController();
  const polling = Array.from({ length: 3 }, async () => {
    while (!over.signal.aborted) answers.push(await livez(port));
  });
  await expect.poll(() => answers.length).toBeGreaterThan(20);
  old.handOverTo(service.server);
  await service.listen({ host, port });
  await expect.poll(() => answers.filter((answer) => answer === 'service').length).toBeGreaterThan(20);
  over.abort();
  await Promise.all(polling);
  const first = answers.indexOf('service');
  expect(new Set(answers.slice(0, first))).toEqual(new Set(['{"status":"ok","starting":true}']));
  await service.close();
  await old.close();
  await expect(livez(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('a connection opened during the start is answered by the service, and closed', async () => {
  const { port, old } = await startPair();
  const early = connect({ host, port });
  await once(early, 'connect');
  const service: Server = createServer((_, response) => response.end('service'));
  onTestFinished(() => void service.close());
  old.handOverTo(service);
  service.listen(port, host);
  await once(service, 'listening');
  early.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n');
  const answer = await text(early);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nconnection: close\r\n/i);
  expect(answer).toContain('service');
});

it('a start that fails after the port was handed over leaves no connection and no port', async () => {
  const { port, old } = await startPair();
  const silent = connect({ host, port });
  await once(silent, 'connect');
  const service = createServer();
  old.handOverTo(service);
  service.listen(port, host);
  await once(service, 'listening');
  const gone = once(silent, 'close');
  service.close();
  await old.close();
  await gone;
  await expect(livez(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
