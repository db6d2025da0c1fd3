import { request as httpRequest, Agent, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../contract/errors.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';
import { createBodyBudget, readBody } from './read-body.ts';

/** What can happen to a body on its way: real sockets against the real server. */
const bodyBytesMax = 100_000;
const settings = { captureBodyBytesMax: bodyBytesMax, captureBodyTimeoutMs: 600, captureInflatedBytesMax: 1_000_000 };
let capture: TestCapture;
let port: number;
let good: string;

beforeAll(async () => {
  capture = await startTestCapture({ settings });
  port = Number(new URL(await capture.url()).port);
  good = JSON.stringify({ api_key: capture.token, batch: [{ event: 'a', distinct_id: 'u' }] });
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

/** Writes raw HTTP and returns what is received until the server closes the connection or `until` matches. */
function raw(chunks: readonly string[], until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let text = '';
    const done = (): void => {
      socket.destroy();
      resolve(text);
    };
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (until?.test(text)) done();
    });
    socket.on('close', done);
    socket.on('error', reject);
    for (const chunk of chunks) socket.write(chunk);
  });
}

/** Builds a request with a body in these pieces; `kept` returns the bytes kept before each piece and at the end. */
function feed(pieces: readonly string[]) {
  const budget = createBodyBudget(10 * bodyBytesMax);
  const kept: number[] = [];
  const body = Readable.from(
    (function* () {
      for (const piece of pieces) {
        kept.push(budget.bytes);
        yield Buffer.from(piece);
      }
    })(),
    { objectMode: false, highWaterMark: 1 },
  );
  const headers = { 'content-length': String(pieces.join('').length) };
  const sent = Object.assign(body, { headers, complete: false }) as unknown as IncomingMessage;
  return { sent, budget, kept: () => [...kept, budget.bytes] };
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterAll(() => agent.destroy());

function post(
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; port: number }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { port, host: '127.0.0.1', method: 'POST', path: '/batch/', agent, headers },
      (answer: IncomingMessage) => {
        const localPort = answer.socket.localPort ?? 0;
        let text = '';
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, port: localPort }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const head = (headers: string): string =>
  `POST /batch/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`;

describe('bodies that are too large', () => {
  it('up to twice the limit get 413 and the connection stays usable', async () => {
    const refused = await post(Buffer.alloc(bodyBytesMax + 1, ' '));
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 'request_too_large',
      detail: expect.stringContaining('Request body exceeds limit of 100000 bytes'),
    });
    const next = await post(good);
    expect([next.status, next.port]).toEqual([200, refused.port]);
  });

  it('without Content-Length get 413 as well', async () => {
    const refused = await post(Buffer.alloc(bodyBytesMax + 1, ' '), { 'transfer-encoding': 'chunked' });
    expect(refused.status).toBe(413);
    expect((await post(good)).port).toBe(refused.port);
  });

  it('beyond twice the limit get 413 immediately, without being read', async () => {
    const answer = await raw([head(`Content-Length: ${bodyBytesMax * 1000}`)]);
    expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  });

  it('are discarded from their first byte if their form alone makes them too large', async () => {
    const { sent, budget, kept } = feed(['data=', 'x'.repeat(50_000), 'x'.repeat(40_000)]);
    const refusalOf = (start: Buffer, declared: number): ApiError | undefined =>
      start.toString() === 'data=' && declared === 90_005 ? new ApiError('request_too_large', 'a form') : undefined;
    const limits = { bytesMax: bodyBytesMax, timeoutMs: 60_000, refusalOf };
    await expect(readBody(sent, limits, budget)).rejects.toMatchObject({ status: 413, detail: 'a form' });
    expect(kept()).toEqual([0, 0, 0, 0]);
  });

  it('are discarded from their first byte if they declare their size', async () => {
    const { sent, budget, kept } = feed(['{', 'x'.repeat(bodyBytesMax)]);
    const limits = { bytesMax: bodyBytesMax, timeoutMs: 60_000 };
    await expect(readBody(sent, limits, budget)).rejects.toMatchObject({ status: 413 });
    expect(kept()).toEqual([0, 0, 0]);
  });

  it('at the limit are accepted', async () => {
    const body = good.padEnd(bodyBytesMax, ' ');
    expect((await post(body)).status).toBe(200);
  });

  it('are measured again after decompression', async () => {
    const refused = await post(gzipSync(Buffer.alloc(2_000_000, ' ')));
    expect([refused.status, refused.text]).toEqual([413, expect.stringContaining('Decompressed payload')]);
  });
});

describe('bodies that do not arrive', () => {
  it('a stalled body gets 408 after half the time, with a detail that part of it was received', async () => {
    const started = performance.now();
    const answer = await raw([head('Content-Length: 50'), '{"batch"']);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*connection: close[\s\S]*"code":"request_timeout"/i);
    expect(performance.now() - started).toBeGreaterThan(250);
  });

  it('a body sent byte by byte gets 408 when the whole time has passed', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write(head('Content-Length: 1000'));
    const drip = setInterval(() => socket.write(' '), 50);
    const started = performance.now();
    const answer = await new Promise<string>((resolve) => {
      socket.once('data', (chunk) => resolve(chunk.toString()));
    });
    clearInterval(drip);
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 408/);
    expect(performance.now() - started).toBeGreaterThan(500);
  });

  it('a client that disconnects leaves nothing behind', async () => {
    const before = (await capture.records()).length;
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      socket.write(`${head(`Content-Length: ${good.length}`)}${good.slice(0, 20)}`, () => resolve());
    });
    socket.destroy();
    expect((await post(good)).status).toBe(200);
    expect((await capture.records()).length).toBe(before + 1);
  });

  it('a client that resets after sending everything is served, and no error is logged', async () => {
    const before = (await capture.records()).length;
    for (let i = 0; i < 5; i++) {
      const socket = connect(port, '127.0.0.1');
      await new Promise<void>((resolve) => {
        socket.write(`${head(`Content-Length: ${good.length}`)}${good}`, () => resolve());
      });
      socket.resetAndDestroy();
    }
    await expect.poll(async () => (await capture.records()).length).toBe(before + 5);
    expect(capture.test.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('a Content-Length that is too small ends the body there, and the rest is a bad request', async () => {
    const answer = await raw(
      [head('Content-Length: 5'), good],
      /400 Bad Request[\s\S]*400 Bad Request|connection: close/i,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400/);
  });

  it('a chunked body without an end gets 408', async () => {
    const answer = await raw([head('Transfer-Encoding: chunked'), '5\r\n{"bat\r\n']);
    expect(answer).toMatch(/^HTTP\/1\.1 408/);
  });
});

describe('many bodies at the same time', () => {
  it('are refused with 503 when together they exceed the memory budget, which is free again afterwards', async () => {
    await using patient = await startTestCapture({ settings: { ...settings, captureBodyTimeoutMs: 60_000 } });
    const patientPort = Number(new URL(await patient.url()).port);
    const atServer: Socket[] = [];
    patient.test.app.server.on('connection', (socket) => atServer.push(socket));
    const part = 'x'.repeat(90_000);
    const allButLast = `${head(`Content-Length: ${part.length + 1}`)}${part}`;
    const sockets = Array.from({ length: 30 }, () => connect(patientPort, '127.0.0.1'));
    const answers = sockets.map(
      (socket) =>
        new Promise<string>((resolve) => {
          socket.once('data', (chunk) => resolve(chunk.toString().slice(0, 12)));
          socket.on('error', () => resolve('closed'));
          socket.write(allButLast);
        }),
    );
    // No client has sent its last byte, so everything the budget permits is in memory at the same time.
    await vi.waitFor(() => {
      expect(atServer.filter(({ bytesRead }) => bytesRead === allButLast.length)).toHaveLength(sockets.length);
    });
    for (const socket of sockets) socket.write('x');
    const statuses = await Promise.all(answers);
    for (const socket of sockets) socket.destroy();
    expect(statuses.filter((status) => status === 'HTTP/1.1 503').length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 'HTTP/1.1 400').length).toBeGreaterThan(10);
    const body = good.replace(capture.token, patient.token);
    const next = await fetch(`${await patient.url()}/batch/`, { method: 'POST', body });
    expect(next.status).toBe(200);
  });
});
