import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { sendRaw } from '../../../test/support/send-raw.ts';

/** Sends `text` and returns everything received until the server closes the connection. */
async function converse(app: TestApp, text: string): Promise<string> {
  const { port } = app.app.server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

describe('limits of the server', () => {
  it('refuses a body that does not arrive in time', async () => {
    await using app = await startTestApp(() => []);
    Object.assign(app.app.server, { headersTimeout: 400, requestTimeout: 500 });
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const head =
      'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
    const answer = await converse(app, head);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"request_timeout"');
  });

  it('sets timeouts for slow headers and idle connections', async () => {
    await using hasty = await startTestApp(() => [], { settings: { captureBodyTimeoutMs: 100 } });
    expect(hasty.app.server).toMatchObject({ headersTimeout: 5_100, requestTimeout: 5_100 });
    await using app = await startTestApp(() => []);
    const { headersTimeout, requestTimeout, keepAliveTimeout } = app.app.server;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 35_000,
      keepAliveTimeout: 72_000,
    });
  });

  it('a body that is far too large is read to its end and discarded, so that its sender sees the refusal', async () => {
    await using app = await startTestApp(() => []);
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.app.server.address() as AddressInfo;
    const headers = { 'content-type': 'application/json' };
    for (const path of ['/login', '/logout']) {
      const body = Buffer.alloc(19_000_000, ' ');
      expect(await sendRaw(port, { name: path, path, headers, body })).toBe(413);
    }
  });

  it('refuses headers beyond the limit of the parser with an error body', async () => {
    await using app = await startTestApp(() => []);
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await converse(app, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"code":"request_too_large"');
  });

  it('refuses to start with a rate limit that cannot be read', async () => {
    const start = startTestApp(() => [], { settings: { apiRateLimit: 'lots' } });
    await expect(start).rejects.toThrow('MILLRACE_API_RATE_LIMIT: expected');
  });
});
