import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventListQuerySchema } from '../../wire/contract/events.ts';
import { parseExact } from '../../base/exact-json.ts';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

/** A service in little: what it is asked is kept, what it answers is set by each test. */
let server: Server;
let url: string;
let asked: { readonly path: string; readonly query: URLSearchParams; readonly authorization: string | undefined }[];
let answer: (
  query: URLSearchParams,
  path: string,
) => { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

beforeAll(async () => {
  server = createServer((request: IncomingMessage, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
    asked.push({ path: pathname, query: searchParams, authorization: request.headers.authorization });
    const { status, body, headers } = answer(searchParams, pathname);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const event = (n: number): object => ({
  id: `id-${n}`,
  event: `e${n}\u001b[2J`,
  distinct_id: 'd',
  timestamp: '2021-01-01T00:00:00.000000Z',
});
const run = (args: string): Promise<Finished> =>
  runCommand(args.split(' '), { env: { MILLRACE_URL: url, MILLRACE_API_KEY: 'phx_key' } });

describe('events list', () => {
  it('prints every digit of numbers beyond 2^53 in each form', async () => {
    const properties = { id: parseExact('1234567890123456789'), amount: parseExact('0.12345678901234567891') };
    answer = () => ({ status: 200, body: { next: null, results: [{ ...event(1), properties }] } });
    for (const form of ['json', 'ndjson', 'yaml']) {
      const { stdout } = await run(`events list --output ${form}`);
      expect(stdout).toMatch(/id"?: ?1234567890123456789\b/);
      expect(stdout).toContain('0.12345678901234567891');
    }
  });

  it('reads pages until the limit, and shows no control characters', async () => {
    answer = (query) => {
      const from = Number(query.get('cursor') ?? 0);
      const results = [event(from), event(from + 1), event(from + 2)];
      // A link as a service behind a proxy would write it.
      return { status: 200, body: { next: `https://public.example/x/?cursor=${from + 3}`, previous: null, results } };
    };
    const { code, stdout } = await run('events list --limit 7 --event signup --after 2021-01-01');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(7);
    expect(stdout).toContain('e6');
    expect(stdout).not.toContain('\u001b');
    expect(asked.map(({ query }) => query.get('cursor'))).toEqual([null, '3', '6']);
    expect(asked[0]).toMatchObject({ path: '/api/projects/@current/events/', authorization: 'Bearer phx_key' });
    expect(Object.fromEntries(asked[0]?.query ?? [])).toEqual({ event: 'signup', after: '2021-01-01', limit: '7' });
  });

  it('requests only history as the API names it', async () => {
    answer = () => ({ status: 200, body: { next: null, previous: null, results: [] } });
    await run('events list --historical true');
    const known = Object.keys(eventListQuerySchema.properties);
    expect(known).toEqual(expect.arrayContaining([...(asked[0]?.query.keys() ?? [])]));
    expect(asked[0]?.query.get('historical_migration')).toBe('true');
  });
});

describe('a refusal of the service becomes an exit code and a message', () => {
  it.each([
    [401, exitCodes.auth.code, 'API key invalid.'],
    [403, exitCodes.auth.code, 'API key missing required scope'],
    [404, exitCodes.notFound.code, 'Project not found.'],
    [429, exitCodes.rateLimited.code, 'Try again in 7 s'],
    [503, exitCodes.unreachable.code, 'later'],
    [400, exitCodes.failed.code, 'after: not a time'],
  ])('%i → %i', async (status, code, detail) => {
    const attr = status === 400 ? 'after' : null;
    const text = status === 400 ? 'not a time' : status === 429 ? 'Request was throttled.' : detail;
    answer = () => ({
      status,
      body: { type: 'x', code: 'y', detail: text, attr },
      headers: { 'retry-after': '7', 'x-request-id': 'r-1' },
    });
    const finished = await run('events counts');
    expect(finished.stderr).toContain(detail);
    expect(finished.stderr).toContain('r-1');
    expect(finished.stdout).toBe('');
    expect(finished.code).toBe(code);
  });

  it('a key without the scope is refused with the command that creates one with it', async () => {
    answer = () => ({ status: 403, body: { detail: "API key missing required scope 'query:read'" } });
    expect((await run('events counts')).stderr).toContain(
      '"millrace keys create --scope query:read" creates one with it',
    );
  });

  it('the address of another service is recognised', async () => {
    answer = () => ({ status: 200, body: 'x' });
    const html = createServer((_request, response) => response.end('<html></html>'));
    await new Promise<void>((resolve) => html.listen(0, '127.0.0.1', resolve));
    const other = `http://127.0.0.1:${(html.address() as AddressInfo).port}`;
    const { code, stderr } = await runCommand(['events', 'counts', '--url', other, '--api-key', 'phx_key']);
    html.closeAllConnections();
    html.close();
    expect(stderr).toContain('is this the address of Millrace?');
    expect(code).toBe(exitCodes.failed.code);
  });
});
