import { describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError, type Source } from '../source.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { createExportApi } from './export-api.ts';
import { eventPages, microsOf } from './posthog-pages.ts';
import { isoOfMicros } from '../../base/clock.ts';
import { posthog } from './posthog.ts';
import {
  startExportServer,
  type Answer,
  type ExportRequestOf,
  type ExportServer,
} from '../../../test/support/export-server.ts';
import { readSource, sleep, testSourceHost } from './source-host.fixture.ts';
import { seededRandom } from '../../../test/support/draw.ts';

interface Stored {
  readonly id: string;
  readonly micros: number;
}

const start = microsOf('2024-03-01T00:00:00Z') ?? 0;
const dayMicros = 86_400_000_000;
const range = { from: '2024-03-01T00:00:00.000Z', to: '2024-03-03T00:00:00.000Z' };

/** Many share a time; some are at midnight or in the last microsecond of a day. */
function storedEvents(seed: number): Stored[] {
  const random = seededRandom(seed);
  const times = [start, start + dayMicros, start + dayMicros - 1, start + 2 * dayMicros - 1];
  const inside = [...times, ...times.slice(0, 2)];
  for (let index = 0; index < 60; index += 1) {
    const micros = start + Math.floor(random() * 2 * dayMicros);
    const twins = random() < 0.3 ? 5 : 1;
    for (let twin = 0; twin < twins; twin += 1) inside.push(micros);
  }
  const outside = [start - 1, start + 2 * dayMicros];
  return [...inside, ...outside].map((micros, index) => ({ id: `id-${index}`, micros }));
}

function wanted(stored: readonly Stored[]): string[] {
  return stored
    .filter(({ micros }) => micros >= start && micros < start + 2 * dayMicros)
    .map(({ id }) => id)
    .toSorted();
}

type Kind = 'after included, cursors' | 'after excluded, by time alone';

/** Newest first, as both kinds of services answer; the order of events that share a time is up to them. */
function eventsApi(stored: readonly Stored[], kind: Kind, slowMicros = Infinity) {
  return (request: ExportRequestOf): Answer => {
    if (request.path !== '/api/projects/7/events') return { status: 404, body: '{"detail": "Not found."}' };
    const { query } = request;
    const after = microsOf(query.get('after') ?? '') ?? 0;
    const before = microsOf(query.get('before') ?? '') ?? 0;
    if (before - after > slowMicros) return { status: 504, body: 'too slow' };
    const limit = Number(query.get('limit'));
    const included = kind === 'after included, cursors';
    const found = stored
      .filter(({ micros }) => (included ? micros >= after : micros > after) && micros < before)
      .toSorted((a, b) => b.micros - a.micros || (a.id < b.id ? -1 : 1));
    const first = Number(query.get('cursor') ?? 0);
    const page = found.slice(first, first + limit);
    const next = first + limit < found.length;
    const link = included
      ? `https://elsewhere.example/?cursor=${first + limit}`
      : 'https://elsewhere.example/?before=x';
    return { json: { next: next ? link : null, results: page.map(shown) } };
  };
}

function shown({ id, micros }: Stored) {
  return { id, event: 'view', distinct_id: 'u', timestamp: isoOfMicros(micros), properties: {} };
}

function sourceOf({ url }: Pick<ExportServer, 'url'>, settings: SettingValues = {}): Source {
  const own = { host: url, project_id: '7', personal_api_key: 'phx_very_secret', ...settings };
  return posthog.createSource(withDefaults(posthog.fields, own), testSourceHost());
}

function ids(found: ReadonlyMap<string, readonly string[]>): string[] {
  return [...found.values()].flat().map((line) => (JSON.parse(line) as Stored).id);
}

const kinds = ['after included, cursors', 'after excluded, by time alone'] as const;
const cases = kinds.flatMap((kind) => [1, 2, 3, 7, 50, 1000].map((size) => [kind, size] as const));

describe.each([1, 2, 3])('events of another service (seed %i)', (seed) => {
  const stored = storedEvents(seed);

  it.each(cases)('%s, pages of %i: each event of the range is read exactly once, by its day', async (kind, size) => {
    await using server = await startExportServer(eventsApi(stored, kind));
    const found = await readSource(sourceOf(server, { page_size: String(size) }), range);
    expect(ids(found).toSorted()).toEqual(wanted(stored));
    for (const [day, lines] of found) {
      expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ timestamp: expect.stringContaining(day) });
    }
    expect(server.asked[0]?.authorization).toBe('Bearer phx_very_secret');
  });

  it.each(kinds)('%s: a request that is too slow is split in half', async (kind) => {
    await using server = await startExportServer(eventsApi(stored, kind, dayMicros / 7));
    const found = await readSource(sourceOf(server, { page_size: '3' }), range);
    expect(ids(found).toSorted()).toEqual(wanted(stored));
  });
});

describe('years with few events', () => {
  it('take few requests: the days of one answer grow while it holds all of them', async () => {
    const days = 1823;
    const stored = Array.from({ length: 503 }, (_, index) => ({
      id: `id-${index}`,
      micros: start + Math.floor((index * days) / 503) * dayMicros + index,
    }));
    await using server = await startExportServer(eventsApi(stored, kinds[0]));
    const to = new Date(start / 1000 + days * 86_400_000).toISOString();
    const found = await readSource(sourceOf(server), { from: range.from, to });
    expect(ids(found).toSorted()).toEqual(stored.map(({ id }) => id).toSorted());
    expect(server.asked.length).toBeLessThan(40);
  });
});

describe('failures of the other service', () => {
  const stored = storedEvents(4);

  it('rate limits, outages and resets cost a page, not the day', async () => {
    await using server = await startExportServer(eventsApi(stored, kinds[0]));
    Object.assign(server.trouble, { rateLimited: 1, unavailable: 1, reset: 1 });
    const quiet = await startExportServer(eventsApi(stored, kinds[0]));
    const found = await readSource(sourceOf(server, { page_size: '10' }), range);
    await readSource(sourceOf(quiet, { page_size: '10' }), range);
    expect(ids(found).toSorted()).toEqual(wanted(stored));
    expect(server.asked.length).toBe(quiet.asked.length + 3);
    await quiet[Symbol.asyncDispose]();
  });

  it('a request that is too slow even for a minute of events is retried', async () => {
    await using server = await startExportServer(eventsApi(stored, kinds[0], 0));
    await expect(readSource(sourceOf(server), range)).rejects.toThrow(SourceWaitError);
  });

  it('a response without data for too long leads to a smaller request', async () => {
    const quick = eventsApi(stored, kinds[1]);
    await using server = await startExportServer((request) => {
      const width =
        (microsOf(request.query.get('before') ?? '') ?? 0) - (microsOf(request.query.get('after') ?? '') ?? 0);
      return width > 1.5 * dayMicros ? { silent: true } : quick(request);
    });
    const api = createExportApi(testSourceHost(), { name: 'It', secrets: [] });
    const url = `${server.url}/api/projects/7/events`;
    const pages = eventPages(
      { name: 'It', api, url, headers: {}, limit: 1000, idleMs: 300 },
      { from: start, to: start + 2 * dayMicros },
      { signal: new AbortController().signal },
    );
    const chunks = await Array.fromAsync(pages);
    expect(
      ids(new Map([['all', chunks.flatMap(({ lines }) => lines.toString().trim().split('\n'))]])).toSorted(),
    ).toEqual(wanted(stored));
    expect(server.asked.length).toBe(3);
  });

  it('reports what it waits for, and gives up on a page that is broken three times in a row', async () => {
    await using server = await startExportServer(eventsApi(stored, kinds[0]));
    Object.assign(server, { retryAfter: '1' });
    Object.assign(server.trouble, { rateLimited: 1, truncatedGzip: 3 });
    const waits: (readonly [string, number])[] = [];
    const context = {
      signal: new AbortController().signal,
      waiting: (reason: string, waitMs: number) => void waits.push([reason, waitMs]),
      sleep,
    };
    const source = sourceOf(server);
    const [part] = await source.listParts(range, context);
    if (part === undefined) throw new Error('expected a part');
    await expect(Array.fromAsync(source.open(part, context))).rejects.toThrow(/complete gzip data/);
    expect(waits[0]).toEqual(['The other service responded 429: Too many requests', 1000]);
    expect(waits.slice(1).map(([reason]) => reason)).toEqual(Array(2).fill(expect.stringContaining('cut off')));
    expect(server.asked).toHaveLength(4);
  });

  it('pages in gzip within gzip are read', async () => {
    await using server = await startExportServer(eventsApi(stored, kinds[0]));
    server.layers = 2;
    expect(ids(await readSource(sourceOf(server), range)).toSorted()).toEqual(wanted(stored));
  });

  it('a response that is not a page is rejected', async () => {
    await using server = await startExportServer(() => ({ json: { results: [{ name: 'no event' }] } }));
    await expect(readSource(sourceOf(server), range)).rejects.toThrow(/expected events with id and timestamp/);
  });

  it('a rejected key ends the run', async () => {
    await using server = await startExportServer(() => ({
      status: 403,
      body: '{"detail": "phx_very_secret is wrong"}',
    }));
    const error = await readSource(sourceOf(server), range).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(String(error)).toContain('responded 403: *** is wrong; check the credentials');
  });

  it('more events with one time than any page holds are an error, never a gap', async () => {
    const twin = { id: 'x', micros: start + 5 };
    const same = Array.from({ length: 40 }, (_, index) => ({ ...twin, id: `twin-${index}` }));
    const capped = eventsApi(same, kinds[1]);
    await using server = await startExportServer((request) => {
      request.query.set('limit', '10');
      return capped(request);
    });
    await expect(readSource(sourceOf(server, { page_size: '10' }), range)).rejects.toThrow(/too many events/);
  });
});

describe('records of another service', () => {
  it('keep every digit of long numbers', async () => {
    const record =
      '{"id":"a","event":"e","distinct_id":"u","timestamp":"2024-03-01T10:00:00Z","properties":{"n":12345678901234567890}}';
    await using server = await startExportServer(({ query }) => ({
      bytes: Buffer.from(`{"next":null,"results":[${query.get('before')?.startsWith('2024-03-02') ? record : ''}]}`),
      contentType: 'application/json',
    }));
    expect([...(await readSource(sourceOf(server), range)).values()].flat()).toEqual([record]);
  });

  it('microseconds survive conversion to text and back', () => {
    for (const micros of [0, start + 1, start - 1, start + 123_456, -1]) {
      expect(microsOf(isoOfMicros(micros))).toBe(micros);
    }
    expect(microsOf('2024-03-01T02:00:00.5+02:00')).toBe(start + 500_000);
    expect(microsOf('2024-03-01 00:00:00')).toBe(start);
    expect(microsOf('yesterday')).toBeUndefined();
  });
});

describe('settings of another service', () => {
  it.each([
    [{ host: '' }, 'host'],
    [{ project_id: '7/../8' }, 'project_id'],
    [{ personal_api_key: '' }, 'personal_api_key'],
    [{ page_size: '0' }, 'page_size'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf({ url: 'http://localhost' }, settings)).toThrow(SettingsError);
    expect(() => sourceOf({ url: 'http://localhost' }, settings)).toThrow(`"${key}"`);
  });
});
