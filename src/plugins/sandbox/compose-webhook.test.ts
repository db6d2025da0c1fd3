import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { testServer } from '../../../test/support/outbound-server.ts';
import { eventOf, openTestSandbox, specOf } from '../../../test/support/sandbox.ts';

const sandbox = openTestSandbox({ outbound: { allow: '127.0.0.1', timeoutMs: 2000, bytesMax: 100_000 } });
afterAll(() => sandbox.close());

async function open(code: string) {
  return await sandbox.open(specOf(code));
}

function composing(port: number): string {
  return `exports.composeWebhook = (event, { config }) => {
    if (event.event === 'quiet') return null;
    return { url: 'http://127.0.0.1:${port}/' + event.event, method: 'PUT', headers: { 'x-key': 'k' },
      body: JSON.stringify({ ...event, isDate: event.timestamp instanceof Date }) } }`;
}

describe('composeWebhook', () => {
  it('is delivered like onEvent: the composed request is sent', async () => {
    const bodies: Promise<string>[] = [];
    await using server = await testServer((request, response) => {
      bodies.push(text(request));
      response.end();
    });
    const instance = await open(composing(server.port));
    expect(instance.described.methods).toEqual(['onEvent', 'composeWebhook']);
    await instance.call({ kind: 'onEvent', events: [eventOf('loud', { a: 1 }), eventOf('quiet')] });
    expect(server.seen).toEqual(['PUT /loud']);
    expect(server.requests[0]?.headers['x-key']).toBe('k');
    const [body = ''] = await Promise.all(bodies);
    expect(JSON.parse(body)).toMatchObject({ event: 'loud', properties: { a: 1 }, isDate: true });
  });

  it.each([
    [500, true],
    [429, true],
    [404, false],
  ])('an answer of %i is a failure, to be tried again: %s', async (status, retry) => {
    await using server = await testServer((_request, response) => response.writeHead(status).end());
    const instance = await open(composing(server.port));
    const call = instance.call({ kind: 'onEvent', events: [eventOf('loud')] });
    await expect(call).rejects.toMatchObject({ retry, message: expect.stringContaining(String(status)) as string });
  });

  it('an onEvent of the plugin takes precedence', async () => {
    const code = `exports.composeWebhook = () => { throw new Error('no') }; exports.onEvent = () => 'own'`;
    const instance = await open(code);
    expect(await instance.call({ kind: 'onEvent', events: [eventOf('loud')] })).toBe('own');
  });
});
