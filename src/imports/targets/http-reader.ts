import { contentText, type ContentKind } from '../checksum.ts';
import { isObject, objectIn } from '../../base/json.ts';
import { parseMicros } from '../../stores/events/micros.ts';
import { historicalExpiry } from '../../stores/events/retention-policy.ts';
import type { RetentionPolicy } from '../../wire/contract/retention.ts';
import {
  TargetUnreadableError,
  type ExpiredBefore,
  type StoredCount,
  type StoredIdentity,
  type StoredPlace,
  type TargetReader,
} from '../target.ts';
import { detailIn, type Answer } from './batch-answer.ts';

interface HttpReaderOptions {
  /** Base address of the service, without a trailing slash. */
  readonly origin: string;
  /** The project's key, which identifies it. */
  readonly apiKey: string;
  readonly runId: string;
  /** Resolves with a final response; throws TargetWaitError. */
  readonly get: (url: string, signal: AbortSignal) => Promise<Answer>;
}

type JsonRecord = Readonly<Record<string, unknown>>;

interface Page {
  readonly rows: readonly JsonRecord[];
  readonly kind: ContentKind;
}

const projectPagesMax = 100;
/** Of the names in one address, escaped. */
const namesCharsMax = 3000;

/** Reads back what another instance of this program stores: `…/events/imported_counts/` and `…/events/imported_events/`. */
export function createHttpReader(options: HttpReaderOptions): TargetReader {
  let project: string | undefined;
  let listsNames: boolean | undefined;
  const projectOf = async (signal: AbortSignal): Promise<string> => (project ??= await findProject(options, signal));
  const events = async (name: string, query: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const place = `${options.origin}/api/projects/${await projectOf(signal)}/events`;
    return getJson(options, `${place}/${name}/?${new URLSearchParams(query)}`, signal);
  };
  return {
    dayCounts: async (day, signal, contents) => {
      const answer = await events('imported_counts', { day, run: options.runId, contents }, signal);
      return new Map(listOf(answer).map((row) => countOf(row, answeredKind(answer))));
    },
    dayProperties: async (day, event, uuids, signal) => {
      const answer = await events('imported_properties', { day, event, uuids: uuids.join(',') }, signal);
      return new Map(listOf(answer).map(propertiesOf));
    },
    // Every count contains it, also of a day without events.
    activeTransformations: async (signal) => {
      const answer = await events('imported_counts', { day: '2000-01-01', run: options.runId }, signal);
      return Number(answer['active_transformations'] ?? 0);
    },
    expiredBefore: (signal) => readExpiry(options, projectOf, signal),
    dayEvents: async function* (day, names, signal, contents) {
      for (const some of groupNames(names)) {
        for await (const { rows, kind, event } of pagesOf({ day, contents }, some, signal)) {
          yield rows.map((row) => identityOf(row, event, kind === contents ? kind : undefined));
        }
      }
    },
    eventsNamed: async function* (event, signal) {
      for await (const { rows } of pages({ event }, signal)) yield rows.map(placeOf);
    },
  };

  /** Requests all names together. Services of an older version list one name at a time. */
  async function* pagesOf(
    where: Readonly<Record<string, string>>,
    names: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<Page & { readonly event?: string }> {
    if (listsNames !== false) {
      try {
        for await (const page of pages({ ...where, events: JSON.stringify(names) }, signal)) {
          listsNames = true;
          yield page;
        }
        return;
      } catch (error) {
        if (listsNames || !(error instanceof TargetUnreadableError && error.code === 'no_reader')) throw error;
        listsNames = false;
      }
    }
    for (const event of names) {
      for await (const page of pages({ ...where, event }, signal)) yield { ...page, event };
    }
  }

  async function* pages(where: Readonly<Record<string, string>>, signal: AbortSignal): AsyncGenerator<Page> {
    let cursor: string | undefined;
    do {
      const query = { ...where, ...(cursor === undefined ? {} : { cursor }) };
      const answer = await events('imported_events', query, signal);
      yield { rows: listOf(answer), kind: answeredKind(answer) };
      cursor = typeof answer['next'] === 'string' ? answer['next'] : undefined;
    } while (cursor !== undefined);
  }
}

/** `undefined` for services of an older version, other services, and keys without access. */
async function readExpiry(
  options: HttpReaderOptions,
  projectOf: (signal: AbortSignal) => Promise<string>,
  signal: AbortSignal,
): Promise<ExpiredBefore | undefined> {
  try {
    const place = `${options.origin}/api/projects/${await projectOf(signal)}/retention/`;
    const policy = await getJson(options, place, signal);
    return Array.isArray(policy['events'])
      ? historicalExpiry(policy as unknown as RetentionPolicy, Date.now())
      : undefined;
  } catch (error) {
    if (error instanceof TargetUnreadableError) return undefined;
    throw error;
  }
}

/** Finds the id of the project with this key. */
async function findProject(options: HttpReaderOptions, signal: AbortSignal): Promise<string> {
  for (let page = 0; page < projectPagesMax; page += 1) {
    const answer = await getJson(options, `${options.origin}/api/projects/?limit=100&offset=${page * 100}`, signal);
    const found = listOf(answer).find((each) => each['api_token'] === options.apiKey);
    if (found !== undefined) return String(found['id']);
    if (answer['next'] === null || answer['next'] === undefined) break;
  }
  throw new TargetUnreadableError(
    'key_project',
    `expected the personal API key to access the project with this project key at ${options.origin}, got one for other projects; ` +
      'give a key that can read it',
  );
}

async function getJson(options: HttpReaderOptions, url: string, signal: AbortSignal): Promise<JsonRecord> {
  const { status, text } = await options.get(url, signal);
  if (status === 200) {
    const answer = objectIn(text);
    if (answer !== undefined) return answer;
  }
  throw unreadable(options.origin, url.split('?')[0] ?? url, status, text);
}

function unreadable(origin: string, place: string, status: number, text: string): TargetUnreadableError {
  if (status === 401 || status === 403) {
    return new TargetUnreadableError(
      status === 401 ? 'key_refused' : 'key_scope',
      `${place} answers ${status}: ${detailIn(text) ?? 'no explanation given'}; ` +
        'give a personal API key with the scopes query:read and project:read',
    );
  }
  return new TargetUnreadableError(
    'no_reader',
    `${origin} has no endpoint to read imported events (${place} answers ${status}); ` +
      'compare the counts per day of the report with what the target shows',
  );
}

function countOf(row: JsonRecord, kind: ContentKind): [string, StoredCount] {
  const { event, count, checksum, content_checksum: content } = row;
  return [String(event), { count: Number(count), checksum: String(checksum), content: contentOf(content, kind) }];
}

/** Splits names so that each group fits an address. */
function groupNames(names: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let chars = namesCharsMax;
  for (const name of names) {
    const own = encodeURIComponent(JSON.stringify(name)).length + 3;
    if (chars + own > namesCharsMax) {
      groups.push([]);
      chars = 0;
    }
    groups.at(-1)?.push(name);
    chars += own;
  }
  return groups;
}

/** `event` is the requested name, if there was only one. `kind` is `undefined` if the checksum of contents cannot be used. */
function identityOf(row: JsonRecord, event: string | undefined, kind: ContentKind | undefined): StoredIdentity {
  const timestamp = parseMicros(String(row['timestamp']));
  if (timestamp === undefined) {
    throw new TargetUnreadableError(
      'no_reader',
      `expected the time of an event as ISO 8601, got: ${String(row['timestamp'])}`,
    );
  }
  const { uuid, distinct_id: distinctId, import_run_id: runId, content_checksum: content } = row;
  const by = { runId: String(runId), content: kind && contentOf(content, kind) };
  return { event: event ?? String(row['event']), uuid: String(uuid), distinctId: String(distinctId), timestamp, ...by };
}

/** Services of an older version ignore the requested kind and return md5. */
function answeredKind(answer: JsonRecord): ContentKind {
  return answer['contents'] === 'crc32' ? 'crc32' : 'md5';
}

/** Services of a still older version do not return it. */
function contentOf(content: unknown, kind: ContentKind): string | undefined {
  return typeof content === 'string' ? contentText(kind, content) : undefined;
}

function propertiesOf({ uuid, distinct_id: distinctId, properties }: JsonRecord): [string, string] {
  return [`${String(uuid)} ${String(distinctId)}`, String(properties)];
}

function placeOf({ day, uuid, distinct_id: distinctId }: JsonRecord): StoredPlace {
  return { day: String(day), uuid: String(uuid), distinctId: String(distinctId) };
}

function listOf(answer: JsonRecord): readonly JsonRecord[] {
  const { results } = answer;
  return Array.isArray(results) ? results.filter(isObject) : [];
}
