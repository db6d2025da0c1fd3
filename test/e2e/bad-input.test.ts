/**
 * Everything that a client can get wrong, against one real program: a clear error, and nothing else lost. Events that were
 * accepted is counted here and compared with the store, the meters and the dead letters at the end.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasProc, peakMemory } from '../support/processes.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilSettled,
  untilStored,
  type TestServer,
} from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
const accepted = { standard: 0, historical: 0 };
/** Reasons of the dead letters, as counted by this test. */
const setAside: string[] = [];
/** Dead letters that were corrected and sent through again. */
let replayed = 0;

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path);
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

type Body = string | Buffer;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function post(body: Body, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

const batchOf = (events: readonly string[], more = ''): string =>
  `{"api_key":"${projectKey}","batch":[${events.join(',')}]${more}}`;
const goodEvent = (): string => JSON.stringify({ event: 'good', distinct_id: 'steady', uuid: randomUUID() });

/** A good batch right after something bad: taken like any other. */
async function expectGoodBatchTaken(): Promise<void> {
  expect(await post(batchOf([goodEvent()]))).toEqual({ status: 200, body: { status: 'Ok' } });
  accepted.standard += 1;
}

interface StoredEvent {
  readonly properties: Record<string, unknown>;
}

/** Waits for one event by its uuid; gives the answer as parsed and as text. */
async function storedEvent(uuid: string): Promise<StoredEvent & { readonly text: string }> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const answer = await fetch(`${server.url}/api/projects/@current/events/${uuid}/`, {
      headers: { authorization: `Bearer ${personalKey}` },
    });
    const text = await answer.text();
    if (answer.status === 200) return { ...(JSON.parse(text) as StoredEvent), text };
    if (Date.now() > deadline) throw new Error(`expected ${uuid} to be stored, got: ${answer.status} ${text}`);
    await delay(50);
  }
}

const small = Buffer.from(batchOf([JSON.stringify({ event: 'packed', distinct_id: 'p' })]));
const packed = gzipSync(small);
const withSize = (size: number): Buffer => {
  const bytes = Buffer.from(packed);
  bytes.writeUInt32LE(size, bytes.length - 4);
  return bytes;
};
const withWrongChecksum = (): Buffer => {
  const bytes = Buffer.from(packed);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 8) ^ 1, bytes.length - 8);
  return bytes;
};
const one = (properties: string): string => batchOf([`{"event":"e","distinct_id":"d","properties":${properties}}`]);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const keys = (count: number): string => Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',');

interface Refusal {
  readonly body: () => Body;
  readonly status: number;
  readonly type?: string;
  readonly code: string;
  readonly detail: string;
  readonly attr?: string;
  /** Of the event in it, as in `rejected`; undefined: no event is at fault. */
  readonly fault?: string;
}

const unreadable = { status: 400, type: 'invalid_request', code: 'parse_error' } as const;
const invalid = { status: 400, type: 'validation_error', code: 'invalid_input', attr: 'batch[0]' } as const;
const tooLarge = { status: 413, type: 'invalid_request', code: 'request_too_large' } as const;

const refusals: Readonly<Record<string, Refusal>> = {
  'a gzip body that is cut off': {
    ...unreadable,
    body: () => packed.subarray(0, -12),
    detail: 'unexpected end of file',
  },
  'a gzip body that claims 4 GB': { ...unreadable, body: () => withSize(0xffffffff), detail: 'incorrect length check' },
  'a gzip body that claims less than it holds': { ...unreadable, body: () => withSize(3), detail: 'incorrect length' },
  'a gzip body with a wrong checksum': { ...unreadable, body: withWrongChecksum, detail: 'incorrect data check' },
  'a gzip body with something behind it': {
    ...unreadable,
    body: () => Buffer.concat([packed, Buffer.alloc(7)]),
    detail: 'got: 7 more bytes',
  },
  'gzip inside gzip': { ...unreadable, body: () => gzipSync(packed), detail: 'failed to parse request: expected' },
  'JSON that nests a million levels outside of events': {
    ...unreadable,
    body: () => `{"api_key":"${projectKey}","x":${'['.repeat(1_000_000)}`,
    detail: 'got: the end of the body',
  },
  NaN: { ...unreadable, body: () => one('{"a":NaN}'), detail: 'expected a JSON value at byte' },
  'bytes that are not UTF-8': {
    ...unreadable,
    body: () => Buffer.from(one('{"a":"\xff"}'), 'latin1'),
    detail: 'UTF-8',
  },
  'a batch inside a JSON text': {
    ...unreadable,
    body: () => JSON.stringify({ api_key: projectKey, batch: '[{"event":"a","distinct_id":"b"}]' }),
    detail: 'send the array itself, not JSON inside a string',
  },
  'an event of 200 levels': {
    ...invalid,
    body: () => one(`{"a":${nested(200)}}`),
    detail: 'at most 64 levels of nesting',
    fault: 'event_too_deep',
  },
  'an event of 20,000 keys': {
    ...invalid,
    body: () => one(`{${keys(20_000)}}`),
    detail: 'at most 10,000 object keys',
    fault: 'too_many_keys',
  },
  'an event of a million keys': {
    ...tooLarge,
    body: () => one(`{${keys(1_000_000)}}`),
    detail: 'expected an event within the limit for one event',
    attr: 'batch[0]',
    fault: 'event_too_large',
  },
  'a property of 10 MB': {
    ...tooLarge,
    body: () => one(`{"a":"${'x'.repeat(10_000_000)}"}`),
    detail: 'expected an event within the limit for one event',
    attr: 'batch[0]',
    fault: 'event_too_large',
  },
};

describe('an invalid body is refused with one clear error, and the next valid one is stored', () => {
  it.each(Object.entries(refusals))('%s', async (_name, refusal) => {
    const { body, status, type, code, attr = null, fault } = refusal;
    const answer = await post(body());
    const detail = expect.stringContaining(refusal.detail) as string;
    const errors = fault === undefined ? {} : { errors: [{ index: 0, code: fault, detail, attr }] };
    expect(answer).toEqual({ status, body: { type, code, detail, attr, ...errors } });
    await expectGoodBatchTaken();
  });
});

describe('gzip bombs', () => {
  it.skipIf(!hasProc)('are refused with 413 in bounded memory, one alone and eight at once', async () => {
    const member = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '), { level: 9 });
    // 2.5 GiB of blanks in 2.5 MB; the trailer of the last member claims 64 MiB.
    const bomb = Buffer.concat(Array.from({ length: 40 }, () => member));
    const before = peakMemory(server);
    const answers = [await post(bomb), ...(await Promise.all(Array.from({ length: 8 }, () => post(bomb))))];
    for (const { status, body } of answers) {
      expect([status, body['code'], body['detail']]).toEqual([
        413,
        'request_too_large',
        'maximum event size exceeded: Decompressed payload would exceed 104857600 bytes; send smaller batches',
      ]);
    }
    expect(peakMemory(server) - before).toBeLessThan(400);
    await expectGoodBatchTaken();
  });
});

describe('a body of 21 MiB', () => {
  it('is answered with 413 on a connection that keeps working', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: Body): Promise<{ status: number; text: string; reused: boolean }> =>
      new Promise((resolve, reject) => {
        const outgoing = httpRequest(`${server.url}/batch/`, { method: 'POST', agent }, (incoming) => {
          let text = '';
          incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
          incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text, reused: outgoing.reusedSocket }));
        });
        outgoing.on('error', reject).end(body);
      });
    const large = await send(one(`{"a":"${'x'.repeat(21 * 1024 * 1024)}"}`));
    expect([large.status, JSON.parse(large.text)]).toEqual([
      413,
      {
        type: 'invalid_request',
        code: 'request_too_large',
        detail: expect.stringContaining('Request body exceeds limit of 20971520 bytes'),
        attr: null,
      },
    ]);
    const next = await send(batchOf([goodEvent()]));
    agent.destroy();
    expect([next.status, next.text, next.reused]).toEqual([200, '{"status":"Ok"}', true]);
    accepted.standard += 1;
  });
});

describe('unusual but valid JSON is stored unchanged', () => {
  const cases: readonly [name: string, properties: string, shown?: string][] = [
    ['integers beyond 2^53 and 2^64', '{"a":9007199254740993,"b":-123456789012345678901234567890}'],
    ['a number beyond the range of a double', '{"a":1e999}'],
    ['NUL in names and texts', String.raw`{"a\u0000b":"c\u0000d"}`],
    // Stored as sent; answers are JSON for strict readers.
    ['half surrogates in names and texts', String.raw`{"\ud800":"x\udc00y"}`, '{"\ufffd":"x\ufffdy"}'],
    ['names of built-ins', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}'],
    ['64 levels', `{"a":${nested(62)}}`],
    ['a repeated key, of which the last counts', '{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
  ];

  it.each(cases)('%s', async (_name, properties, shown = properties) => {
    const uuid = randomUUID();
    const event = `{"event":"unusual","distinct_id":"d","uuid":"${uuid}","timestamp":"2024-05-06T07:08:09Z","properties":${properties}}`;
    const answer = await post(batchOf([event], ',"historical_migration":true'));
    expect(answer).toEqual({ status: 200, body: { status: 'Ok' } });
    accepted.historical += 1;
    expect((await storedEvent(uuid)).text).toContain(`"properties":${shown},"person"`);
  });

  it('a million unknown keys at the root of the body are ignored', async () => {
    const body = `{${keys(1_000_000)},${batchOf([goodEvent()]).slice(1)}`;
    expect(await post(body)).toEqual({ status: 200, body: { status: 'Ok' } });
    accepted.standard += 1;
  });
});

describe('names of built-ins as distinct_id, event, person property, group type and group key', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];

  it('are returned as sent and change nothing else', async () => {
    const events = names.flatMap((name) => {
      const set = `{"${name}":{"polluted":"${name}"}}`;
      const group = `"$group_type":"${name}","$group_key":"${name}","$group_set":${set}`;
      const start = (event: string): string =>
        `{"event":"${event}","distinct_id":"${name}","uuid":"${randomUUID()}","timestamp":"2024-01-02T03:04:05Z"`;
      return [
        `${start(name)},"properties":{"$set":${set},"$groups":{"${name}":"${name}"}}}`,
        `${start('$groupidentify')},"properties":{${group}}}`,
      ];
    });
    const answer = await post(batchOf(events, ',"historical_migration":true'));
    expect(answer).toEqual({ status: 200, body: { status: 'Ok' } });
    accepted.historical += events.length;
    await untilStored(server, accepted);
    const groupTypes = (): Promise<{ group_type: string; group_type_index: number }[]> =>
      apiGet(server, '/api/projects/@current/groups_types/');
    // Rows can be read a moment before what their window says of persons and groups.
    const found = async (): Promise<string[]> => (await groupTypes()).map((type) => type.group_type).sort();
    await expect.poll(found).toEqual([...names].sort());
    const types = await groupTypes();
    for (const { group_type: name, group_type_index: index } of types) {
      const expected = `{"${name}":{"polluted":"${name}"}}`;
      const find = `group_type_index=${index}&group_key=${name}`;
      const group = await apiGet<{ group_properties: object }>(server, `/api/projects/@current/groups/find/?${find}`);
      expect(JSON.stringify(group.group_properties)).toBe(expected);
      const persons = await apiGet<{ results: { distinct_ids: string[]; properties: object }[] }>(
        server,
        `/api/projects/@current/persons/?distinct_id=${name}`,
      );
      expect(persons.results.map((person) => person.distinct_ids)).toEqual([[name]]);
      expect(JSON.stringify(persons.results[0]?.properties)).toBe(expected);
    }
    const uuid = randomUUID();
    await post(batchOf([`{"event":"plain","distinct_id":"plain","uuid":"${uuid}"}`]));
    accepted.standard += 1;
    expect(JSON.stringify((await storedEvent(uuid)).properties)).toBe('{"$ip":"127.0.0.1"}');
  });
});

describe('wrong types', () => {
  const missing = { event: 'missing_event_name', distinct_id: 'missing_distinct_id' } as const;
  const wrong: readonly [field: string, values: readonly string[], code: string][] = [
    ['event', ['true', '5', '[]', '{}'], 'invalid_event_name'],
    ['event', ['null', '""'], missing.event],
    ['distinct_id', ['null', '""', '" "'], missing.distinct_id],
    ['uuid', ['true', '5', '[]', '{}', '"x"'], 'invalid_event_uuid'],
    ['properties', ['true', '5', '"x"', '[1]'], 'malformed_event_properties'],
    ['$set', ['true', '5', '"x"', '[1]'], 'malformed_event_properties'],
    ['$set_once', ['true', '5', '"x"', '[1]'], 'malformed_event_properties'],
    ['offset', ['true', '"5"', '[]', '{}'], 'invalid_event_offset'],
  ];
  const fields = { event: '"e"', distinct_id: '"d"' };
  const eventWith = (field: string, value: string): string =>
    `{${Object.entries({ ...fields, [field]: value })
      .map(([name, text]) => `"${name}":${text}`)
      .join(',')}}`;

  it.each(wrong)('%s with %j affects only its event: %s', async (field, values, code) => {
    const events = values.flatMap((value) => [eventWith(field, value), goodEvent()]);
    const { status, body } = await post(batchOf(events));
    expect([status, body['status']]).toEqual([200, 'Ok']);
    const rejected = values.map((_, n) => ({
      index: 2 * n,
      code,
      attr: `batch[${2 * n}].${field}`,
      detail: expect.stringMatching(/got: |empty event name/),
    }));
    expect(body['rejected']).toEqual(rejected);
    accepted.standard += values.length;
    setAside.push(...values.map(() => code));
  });

  it.each([
    ['distinct_id', ['true', '5', '[]', '{}']],
    ['timestamp', ['true', '[]', '{}', '"x"', 'null']],
    ['properties', ['null']],
    ['uuid', ['null', '""']],
    ['offset', ['null', '1e3']],
  ])('%s with %j is taken', async (field, values) => {
    const answer = await post(batchOf(values.map((value) => eventWith(field, value))));
    expect(answer).toEqual({ status: 200, body: { status: 'Ok' } });
    accepted.standard += values.length;
  });

  const root = (field: string, value: string): string =>
    `{${Object.entries({ api_key: `"${projectKey}"`, batch: `[${goodEvent()}]`, [field]: value })
      .map(([name, text]) => `"${name}":${text}`)
      .join(',')}}`;

  it.each([
    ['batch', ['true', '5', '"x"', '{}', 'null'], 400, 'parse_error'],
    ['historical_migration', ['"true"', '1', '[]', '{}'], 400, 'parse_error'],
    ['api_key', ['true', '5', '[]', '{}'], 401, 'authentication_failed'],
    ['api_key', ['null'], 401, 'not_authenticated'],
  ] as const)('%s at the root with %j is refused', async (field, values, status, code) => {
    for (const value of values) {
      const answer = await post(root(field, value));
      expect([value, answer.status, answer.body['code']]).toEqual([value, status, code]);
    }
    await expectGoodBatchTaken();
  });
});

interface DeadLetterPage {
  readonly count: number;
  readonly results: readonly { id: string; reason: string; state: string; event_uuid: string | null }[];
}

const letters = (query: string): Promise<DeadLetterPage> =>
  apiGet<DeadLetterPage>(server, `/api/projects/@current/dead_letters/?limit=1000&${query}`);

async function apiPost(path: string, body: object): Promise<Answer> {
  const answer = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

describe('good and bad events in one batch', () => {
  it('the valid ones are stored, the invalid ones are dead letters with their bytes, and a corrected one is stored once', async () => {
    const uuid = randomUUID();
    const bad: readonly [event: string, reason: string][] = [
      [`{"event":"sold", "distinct_id":"", "uuid":"${uuid}" ,"properties":{"price":10.50}}`, 'missing_distinct_id'],
      ['null', 'invalid_event'],
      [`{"event":"e","distinct_id":"d","properties":{"a":${nested(200)}}}`, 'event_too_deep'],
      [`{"event":"e","distinct_id":"d","properties":{${keys(20_000)}}}`, 'too_many_keys'],
      [`{"event":"e","distinct_id":"d","properties":{"a":"${'x'.repeat(10_000_000)}"}}`, 'event_too_large'],
    ];
    const { status, body } = await post(batchOf(bad.flatMap(([event]) => [goodEvent(), event])));
    accepted.standard += bad.length;
    setAside.push(...bad.map(([, reason]) => reason));
    const shown = body['rejected'] as { index: number; code: string }[];
    expect([status, shown.map(({ index, code }) => [index, code])]).toEqual([
      200,
      bad.map(([, reason], n) => [2 * n + 1, reason]),
    ]);
    await untilStored(server, accepted);
    // They are written with the cursor, a moment after the rows.
    const found = await vi.waitFor(async () => {
      const page = await letters('reason=missing_distinct_id&event=sold');
      expect(page.results).toMatchObject([{ state: 'open', event_uuid: uuid }]);
      return page;
    }, 10_000);
    const path = `/api/projects/@current/dead_letters/${found.results[0]?.id}/`;
    expect(await apiGet(server, path)).toMatchObject({ original: bad[0]?.[0], original_encoding: 'text' });

    const corrected = { event: 'sold', distinct_id: 'buyer', uuid, properties: { price: 10.5 } };
    const refused = await apiPost(`${path}replay/`, { event: { ...corrected, distinct_id: null } });
    expect([refused.status, refused.body['code'], refused.body['attr']]).toEqual([400, 'invalid_input', 'event']);
    expect(await apiPost(`${path}replay/`, { event: corrected })).toMatchObject({
      status: 200,
      body: { state: 'replayed' },
    });
    expect((await apiPost(`${path}replay/`, { event: corrected })).status).toBe(409);
    accepted.standard += 1;
    replayed += 1;
    expect((await storedEvent(uuid)).properties).toMatchObject({ price: 10.5 });
    await expectGoodBatchTaken();
    await untilStored(server, accepted);
  });

  it('Prefer: handling=strict accepts nothing and lists every invalid event', async () => {
    const body = batchOf([goodEvent(), '5', goodEvent(), '{"event":"e"}']);
    const answer = await post(body, { prefer: 'handling=strict' });
    expect(answer.status).toBe(400);
    expect(answer.body['errors']).toMatchObject([{ attr: 'batch[1]' }, { attr: 'batch[3].distinct_id' }]);
    await expectGoodBatchTaken();
  });
});

function tally(reasons: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

describe('after all of it', () => {
  it('every accepted event is stored and metered once, every other one is a dead letter and a counted warning', async () => {
    await untilSettled(server, accepted);
    const usage = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
    expect(usage.total).toEqual(accepted);
    const all = await letters('');
    expect(tally(all.results.map((letter) => letter.reason))).toEqual(tally(setAside));
    expect((await letters('state=replayed')).count).toBe(replayed);
    const { results } = await apiGet<{ results: { type: string; severity: string; count: number }[] }>(
      server,
      '/api/projects/@current/ingestion_warnings/',
    );
    const errors = results.filter(({ severity }) => severity === 'error');
    expect(Object.fromEntries(errors.map(({ type, count }) => [type, count]))).toEqual(tally(setAside));
  });
});
