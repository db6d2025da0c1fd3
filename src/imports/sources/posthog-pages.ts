import { isoOfMicros } from '../../base/clock.ts';
import { SourceError, SourceWaitError, type RecordChunk, type SourceContext } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { chunkOf, parsePage } from './parse-page.ts';
import { askAgain, readWhole, type ExportApi } from './export-api.ts';

export interface EventsApi {
  readonly name: string;
  readonly api: ExportApi;
  /** `…/api/projects/7/events` */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Events per page. */
  readonly limit: number;
  /** A time span whose response is idle for this long is too large for one request. */
  readonly idleMs?: number;
}

/** Half open, µs since the epoch (safe as a number until the year 2255). */
export interface MicroSlice {
  readonly from: number;
  readonly to: number;
}

export interface FoundEvent {
  readonly id: string;
  readonly micros: number;
  readonly record: unknown;
}

const slowWords = /memory|too (large|slow|long)|time(d )?out/i;

interface Page {
  readonly events: readonly FoundEvent[];
  readonly last: boolean;
  /** Where the next page begins, for services that have such cursors. */
  readonly cursor: string | undefined;
  readonly bytes: number;
}

/** Progress of the walk through a slice. */
interface Walk {
  /** Everything from here on is read, except for events of the preceding µs that are not in `seen`. */
  to: number;
  seen: Set<string>;
  /** Lower ends of the remaining spans, the next one last: a span that is too slow is halved. */
  readonly floors: number[];
  limit: number;
  /** The request that the cursor continues. */
  cursor: { readonly value: string; readonly to: number } | undefined;
}

/** Halving the span is better than waiting for a response that does not come. */
const idleMs = 120_000;
const pageBytesMax = 256 * 1024 * 1024;
const limitMax = 50_000;
/** Spans are halved down to this minimum. */
const stretchMicrosMin = 60_000_000;
const slowStatuses = new Set([408, 504, 524]);

/**
 * Yields every event of a slice exactly once, newest first, even if many share a time. Without a cursor, each page repeats the
 * events of the last time of the page before: paging by time alone would lose some of them.
 */
export async function* eventPages(
  events: EventsApi,
  slice: MicroSlice,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const walk: Walk = { to: slice.to, seen: new Set(), floors: [slice.from], limit: events.limit, cursor: undefined };
  let bytesRead = 0;
  for (let floor = walk.floors.at(-1); floor !== undefined; floor = walk.floors.at(-1)) {
    const stretch = { from: floor, to: walk.to };
    const page = await askAgain(context, () => readPage(events, stretch, walk, context.signal));
    if (page === 'too slow') {
      halve(walk, stretch, events.name);
      continue;
    }
    bytesRead += page.bytes;
    const fresh = takePage(walk, stretch, page, events.name);
    if (fresh.length > 0) {
      const records = fresh.map(({ record }) => record);
      yield chunkOf(records, bytesRead);
    }
  }
}

/** Returns all events of a slice if they fit into one page; `undefined` if there are more or the service is too slow. */
export async function wholeSlice(
  events: EventsApi,
  slice: MicroSlice,
  context: SourceContext,
): Promise<readonly FoundEvent[] | undefined> {
  const walk: Walk = { to: slice.to, seen: new Set(), floors: [slice.from], limit: events.limit, cursor: undefined };
  const page = await askAgain(context, () => readPage(events, slice, walk, context.signal));
  if (page === 'too slow' || !page.last) return undefined;
  mustDescend(page.events, events.name);
  return page.events;
}

function halve(walk: Walk, { from, to }: MicroSlice, name: string): void {
  if (to - from <= stretchMicrosMin) {
    const message = `${name} does not respond in time, not even for the events of one minute; use a batch export there`;
    throw new SourceWaitError(message, { unlimited: true });
  }
  walk.floors.push(from + Math.floor((to - from) / 2));
  walk.cursor = undefined;
}

/** Returns the new events of the page and advances the walk. */
function takePage(walk: Walk, stretch: MicroSlice, page: Page, name: string): readonly FoundEvent[] {
  mustDescend(page.events, name);
  const { seen, to } = walk;
  const fresh = page.events.filter(
    ({ id, micros }) => micros >= stretch.from && micros < to && !(micros === to - 1 && seen.has(id)),
  );
  const lowest = page.events.at(-1)?.micros;
  if (page.last || lowest === undefined || lowest < stretch.from) {
    Object.assign(walk, { to: stretch.from, seen: new Set(), cursor: undefined });
    walk.floors.pop();
    return fresh;
  }
  const border = page.events.filter(({ micros }) => micros === lowest).map(({ id }) => id);
  if (lowest < to - 1) walk.seen = new Set(border);
  else for (const id of border) seen.add(id);
  walk.to = Math.min(to, lowest + 1);
  walk.cursor = page.cursor === undefined ? undefined : { value: page.cursor, to: walk.cursor?.to ?? to };
  if (fresh.length === 0 && page.cursor === undefined) askForMore(walk, name);
  return fresh;
}

/** The whole page was known: more events share a time than fit into it. */
function askForMore(walk: Walk, name: string): void {
  if (walk.limit >= limitMax) {
    const time = isoOfMicros(walk.to - 1);
    throw new SourceError(
      `${name}: too many events have the time ${time} to read them page by page; use a batch export there`,
    );
  }
  walk.limit = Math.min(limitMax, walk.limit * 2);
}

function mustDescend(events: readonly FoundEvent[], name: string): void {
  for (const [index, { micros }] of events.entries()) {
    if (micros <= (events[index - 1]?.micros ?? Infinity)) continue;
    throw new SourceError(`${name}: expected events newest first, got ${isoOfMicros(micros)} after an older one`);
  }
}

async function readPage(
  events: EventsApi,
  { from, to }: MicroSlice,
  { limit, cursor }: Walk,
  signal: AbortSignal,
): Promise<Page | 'too slow'> {
  const { api, headers, url, name } = events;
  // One µs lower, since `after` is inclusive for some services and exclusive for others.
  const query = new URLSearchParams({
    after: isoOfMicros(from - 1),
    before: isoOfMicros(cursor?.to ?? to),
    limit: String(limit),
    ...(cursor === undefined ? {} : { cursor: cursor.value }),
  });
  try {
    const accepted = [200, 400, 500, ...slowStatuses];
    const response = await api.ask(
      { url: `${url}?${query}`, headers, accepted, idleMs: events.idleMs ?? idleMs },
      signal,
    );
    if (response.status === 200) {
      return pageOf(await readWhole(response, { name, bytesMax: pageBytesMax, signal }), name);
    }
    const { error, words } = await api.refusal(response);
    if (slowStatuses.has(response.status) || slowWords.test(words)) return 'too slow';
    throw error;
  } catch (error) {
    if (isTimeout(error)) return 'too slow';
    throw error;
  }
}

/** Whether the connection succeeded but the response timed out. */
function isTimeout(error: unknown): boolean {
  const cause = error instanceof SourceWaitError ? error.cause : undefined;
  if (!(cause instanceof OutboundError)) return false;
  const code = cause.cause instanceof Error && 'code' in cause.cause ? String(cause.cause.code) : '';
  return cause.kind === 'limit' || /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code);
}

function pageOf(bytes: Buffer, name: string): Page {
  const { results, next } = parsePage(bytes, name);
  if (!Array.isArray(results)) {
    throw new SourceWaitError(`${name}: expected a page with results, got none`, { unlimited: false });
  }
  // Only the cursor of the link is used: the checked address stays.
  const cursor = typeof next === 'string' ? URL.parse(next, 'http://localhost')?.searchParams.get('cursor') : undefined;
  return {
    events: results.map((record: unknown) => foundEvent(record, name)),
    last: typeof next !== 'string' || results.length === 0,
    cursor: cursor ?? undefined,
    bytes: bytes.length,
  };
}

function foundEvent(record: unknown, name: string): FoundEvent {
  if (typeof record === 'object' && record !== null && 'timestamp' in record) {
    const id = 'id' in record ? record.id : 'uuid' in record ? record.uuid : undefined;
    const micros = typeof record.timestamp === 'string' ? microsOf(record.timestamp) : undefined;
    if (typeof id === 'string' && micros !== undefined) return { id, micros, record };
  }
  throw new SourceError(`${name}: expected events with id and timestamp; is this the address of an events API?`);
}

const timePattern = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?$/;

/** Returns `undefined` for an invalid time. Without a zone it is UTC. */
export function microsOf(text: string): number | undefined {
  const [, seconds, fraction = '', zone = 'Z'] = timePattern.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const ms = Date.parse(`${seconds.replace(' ', 'T')}${zone}`);
  return Number.isNaN(ms) ? undefined : ms * 1000 + Number(fraction.padEnd(6, '0'));
}
