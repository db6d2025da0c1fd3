import { expect, it } from 'vitest';
import { createHttpReader } from './http-reader.ts';

const names = Array.from({ length: 200 }, (_, n) => `viewed the page "${n}"`);
const row = {
  uuid: 'u',
  distinct_id: 'd',
  timestamp: '2024-03-01T00:00:00Z',
  import_run_id: '',
  content_checksum: '0',
};

/** Reads the events of all names from a service with one event of each. */
async function readAll(isOlder: boolean): Promise<{ readonly found: readonly string[]; readonly requests: number }> {
  let requests = 0;
  const get = async (address: string) => {
    const url = new URL(address);
    if (url.pathname === '/api/projects/') {
      return { status: 200, text: JSON.stringify({ results: [{ id: 1, api_token: 'key' }] }), retryAfterMs: 0 };
    }
    requests += 1;
    expect(address.length).toBeLessThan(4000);
    const [event, events] = [url.searchParams.get('event'), url.searchParams.get('events')];
    if (isOlder && event === null) return { status: 400, text: '{}', retryAfterMs: 0 };
    const named = event === null ? (JSON.parse(events ?? '[]') as string[]) : [event];
    const results = named.map((name) => (isOlder ? row : Object.assign({ event: name }, row)));
    return { status: 200, text: JSON.stringify({ next: null, contents: 'crc32', results }), retryAfterMs: 0 };
  };
  const reader = createHttpReader({ origin: 'http://other.test', apiKey: 'key', runId: 'run-1', get });
  const found: string[] = [];
  for await (const page of reader.dayEvents('2024-03-01', names, new AbortController().signal, 'crc32')) {
    found.push(...page.map(({ event }) => event));
  }
  return { found, requests };
}

it('lists the names of a day together, and one by one from a service of an older version', async () => {
  const [present, older] = [await readAll(false), await readAll(true)];
  expect(present.found).toEqual(names);
  expect(older.found).toEqual(names);
  expect(present.requests).toBeLessThan(5);
  expect(older.requests).toBe(names.length + 1);
});

it.each([
  [
    'a policy',
    200,
    { live_days: 1, historical_days: 30, events: [{ event: 'kept', live_days: 1, historical_days: null }] },
    [30, 'never'],
  ],
  ['a policy that keeps all', 200, { live_days: 1, historical_days: null, events: [] }, undefined],
  ['something else', 200, { detail: 'x' }, undefined],
  ['no such endpoint', 404, {}, undefined],
  ['a key without access', 403, {}, undefined],
])('reads the retention of the project: %s', async (_, status, body, expected) => {
  const get = async (address: string) => {
    const isList = new URL(address).pathname === '/api/projects/';
    const answer = isList ? { results: [{ id: 1, api_token: 'key' }] } : body;
    return { status: isList ? 200 : status, text: JSON.stringify(answer), retryAfterMs: 0 };
  };
  const reader = createHttpReader({ origin: 'http://other.test', apiKey: 'key', runId: 'run-1', get });
  const expiredBefore = await reader.expiredBefore?.(new AbortController().signal);
  const daysOf = (time: number | null) => (time === null ? 'never' : Math.floor((Date.now() - time) / 86_400_000));
  expect(expiredBefore && ['other', 'kept'].map((event) => daysOf(expiredBefore(event)))).toEqual(expected);
});
