import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { apiRoute } from './api-route.ts';

/** Creates a route that answers when `release` is called, so that a test decides what is in progress. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const route = apiRoute({
    method: 'GET',
    path: '/api/slow',
    scope: 'public',
    summary: 'Slow',
    tag: 'things',
    responses: { 200: Type.Object({}) },
    handler: async () => {
      entered.resolve();
      await promise;
      return { status: 200, body: { slow: true } };
    },
  });
  return { route, entered: entered.promise, release: resolve };
}

async function open({ app }: TestApp): Promise<{ socket: Socket; received: () => string; closed: Promise<void> }> {
  const { port } = app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // A reset is an end like any other.
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return { socket, received: () => text, closed };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

/** Logged about requests that do not end. */
const cutOff = 'stopping: aborting requests that did not end in time';
const messages = ({ logged }: TestApp) => logged.map((line) => line['msg']);

describe('closing the server', () => {
  it('answers current requests, announces the end of the connection, and ends it', async () => {
    const slow = gate();
    await using app = await startTestApp(() => [slow.route]);
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const client = await open(app);
    client.socket.write(get('/api/slow'));
    await slow.entered;
    const closing = app.app.close();
    await sleep(200);
    slow.release();
    await Promise.all([closing, client.closed]);
    expect(messages(app)).not.toContain(cutOff);
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close\r\n[\s\S]*\{"slow":true\}$/i);
  });

  it('does not wait for connections that are idle or never sent a byte', async () => {
    const slow = gate();
    await using app = await startTestApp(() => [slow.route]);
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const idle = await open(app);
    idle.socket.write(get('/livez'));
    await expect.poll(idle.received).toContain('200 OK');
    const silent = await open(app);
    await app.app.close();
    await Promise.all([idle.closed, silent.closed]);
    expect(messages(app)).not.toContain(cutOff);
    expect(silent.received()).toBe('');
  });

  it('aborts a request that never ends, and logs it', async () => {
    const slow = gate();
    await using app = await startTestApp(() => [slow.route]);
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const client = await open(app);
    client.socket.write(get('/api/slow'));
    await slow.entered;
    await app.app.close();
    await client.closed;
    expect(messages(app)).toContain(cutOff);
  });
});
