import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

/** A service in little: each connection gets what the test writes into it. */
let server: Server;
let url: string;
let queries: URLSearchParams[];
let connect: (stream: ServerResponse, connection: number) => void;

beforeAll(async () => {
  server = createServer((request, response) => {
    queries.push(new URL(request.url ?? '/', 'http://service').searchParams);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': open\n\n');
    connect(response, queries.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  queries = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const seen = (stage: string, event: string, more: object = {}): string =>
  `event: event\ndata: ${JSON.stringify({
    stage,
    at: '2026-01-01T00:00:00.000Z',
    event,
    distinct_id: 'ann\u001b[2J',
    timestamp: '2026-01-01T00:00:00.000Z',
    historical_migration: false,
    reason: null,
    ...more,
  })}\n\n`;

/** Ends with Ctrl-C, as tails do. */
function tailUntil(isDone: () => boolean, ...args: readonly string[]): Promise<Finished> {
  return runCommand(['events', 'tail', '--url', url, '--api-key', 'phx_key', ...args], {
    onStart: (command) => {
      const timer = setInterval(() => {
        if (!isDone()) return;
        clearInterval(timer);
        setTimeout(() => command.interrupt(), 100);
      }, 10);
    },
  });
}

describe('events tail', () => {
  it('prints events by arrival, also an imported one from 2020, each with its stage, and ends with code 130 on Ctrl-C', async () => {
    connect = (stream) => {
      stream.write(seen('stored', 'signed up'));
      stream.write(seen('stored', 'leads', { historical_migration: true, timestamp: '2020-12-29T07:26:01.000Z' }));
      stream.write(seen('dropped', 'spam', { reason: 'dropped_by_transformation' }));
    };
    const { code, stdout } = await tailUntil(() => queries.length > 0, '--event', 'x');
    expect(stdout.trimEnd().split('\n')).toEqual([
      '2026-01-01T00:00:00.000Z  stored       signed up  ann [2J',
      '2026-01-01T00:00:00.000Z  stored       leads  ann [2J  (historical, of 2020-12-29T07:26:01.000Z)',
      '2026-01-01T00:00:00.000Z  dropped      spam  ann [2J  dropped_by_transformation',
    ]);
    expect(code).toBe(exitCodes.interrupted.code);
    expect(Object.fromEntries(queries[0] ?? [])).toEqual({
      stages: 'stored,dropped,dead_letter',
      events_per_second: '100',
      event: 'x',
    });
  });

  it('reconnects, and reports what was not shown', async () => {
    connect = (stream, connection) => {
      stream.write(seen('stored', `from ${connection}`));
      stream.write('event: skipped\ndata: {"rate":{"stored":1200},"slow":{}}\n\n');
      if (connection === 1) stream.end('event: end\ndata: {"reason":"shutdown","detail":"The service stops."}\n\n');
    };
    const { stdout, stderr } = await tailUntil(() => queries.length > 1);
    expect(stdout).toContain('from 1');
    expect(stdout).toContain('from 2');
    expect(stderr).toContain('not shown: 1,200 stored');
    expect(stderr).toContain('connection lost');
    expect(stderr).toContain('reconnected');
  });

  it('with --json prints events as received, to the last digit', async () => {
    const data = '{"stage":"stored","properties":{"n":12345678901234567890.10}}';
    connect = (stream) => stream.write(`event: event\ndata: ${data}\n\n`);
    const { stdout } = await tailUntil(() => queries.length > 0, '--json', '--stage', 'received', 'stored');
    expect(stdout).toBe(`${data}\n`);
    expect(queries[0]?.get('stages')).toBe('received,stored');
  });

  it.each([
    [
      'nothing listens there',
      ['--url', 'http://127.0.0.1:9'],
      exitCodes.unreachable.code,
      'is "millrace serve" running?',
    ],
    ['a rate of nothing', ['--rate', '0'], exitCodes.usage.code, '--rate: expected a whole number from 1 to 500'],
    ['an unknown stage', ['--stage', 'lost'], exitCodes.usage.code, 'received, transformed, stored'],
  ])('%s is an immediate error', async (_name, args, code, message) => {
    const finished = await runCommand(['events', 'tail', '--url', url, '--api-key', 'phx_key', ...args]);
    expect([finished.code, finished.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
