import type { QueryParam, StoreReader } from './eventstore.ts';
import { readableProperties, timeConditions } from './filters.ts';

export interface EventName {
  readonly name: string;
  readonly count: number;
  /** µs since the epoch. */
  readonly lastMicros: bigint;
}

export interface PropertyName extends EventName {
  /** `string`, `number`, `boolean`, `object`, `array`, `null`; sorted. */
  readonly types: readonly string[];
}

export interface PropertySample {
  readonly sampledEvents: number;
  readonly properties: readonly PropertyName[];
}

const namesMax = 10_000;
/** Sample of the newest events: enough to contain every property in use, in a fraction of a second. */
const sampleMax = 10_000;
const sampleDays = [1n, 7n, 31n];
const dayMicros = 86_400_000_000n;

/** Converts numbers beyond a double to strings where the engine could not read the properties otherwise. */
const readable = `if(isValidJSON(properties), properties, ${readableProperties})`;

interface NameRow {
  readonly name: string;
  readonly found: string;
  readonly micros: string;
}

/** Returns the names of a project's events, most frequent first. Counts duplicates that a later merge removes, which makes it cheap. */
export async function eventNames(store: StoreReader, projectId: number): Promise<EventName[]> {
  const rows = await store.query<NameRow>(
    `SELECT toString(event) AS name, count() AS found, toUnixTimestamp64Micro(max(timestamp)) AS micros
FROM events WHERE project_id = {project:Int32}
GROUP BY event ORDER BY count() DESC, name LIMIT ${namesMax}`,
    { project: projectId },
  );
  return rows.map(nameOf);
}

/** Returns the names of properties of the newest events, of all or of one event name; most frequent first. */
export async function propertyNames(
  store: StoreReader,
  projectId: number,
  event: string | undefined,
): Promise<PropertySample> {
  const isSelected = `project_id = {project:Int32}${event === undefined ? '' : ' AND event = {event:String}'}`;
  const asked = { project: projectId, ...(event === undefined ? {} : { event }) };
  const after = await sampleStart(store, isSelected, asked);
  const range = timeConditions('timestamp', after);
  const where = [isSelected, ...range.sql].join(' AND ');
  const params = { ...asked, ...range.params };
  const sample = `SELECT timestamp, properties FROM events WHERE ${where} ORDER BY timestamp DESC LIMIT ${sampleMax}`;
  const [counted, rows] = await Promise.all([
    store.query<{ found: string }>(
      `SELECT count() AS found FROM (SELECT 1 FROM events WHERE ${where} LIMIT ${sampleMax})`,
      params,
    ),
    store.query<NameRow & { readonly types: readonly string[] }>(
      `SELECT tupleElement(pair, 1) AS name, count() AS found, toUnixTimestamp64Micro(max(timestamp)) AS micros,
  arraySort(groupUniqArray(${typeSql('tupleElement(pair, 2)')})) AS types
FROM (${sample}) ARRAY JOIN JSONExtractKeysAndValuesRaw(${readable}) AS pair
GROUP BY name ORDER BY count() DESC, name LIMIT ${namesMax}`,
      params,
    ),
  ]);
  const properties = rows.map((row) => Object.assign(nameOf(row), { types: row.types }));
  return { sampledEvents: Number(counted[0]?.found ?? 0), properties };
}

/**
 * Returns a time some days before the newest event after which there are enough events for the sample, so that no older ones are read;
 * undefined if a month does not contain enough.
 */
async function sampleStart(
  store: StoreReader,
  where: string,
  params: Readonly<Record<string, QueryParam>>,
): Promise<bigint | undefined> {
  const [newest] = await store.query<{ micros: string }>(
    `SELECT toUnixTimestamp64Micro(timestamp) AS micros FROM events WHERE ${where} ORDER BY timestamp DESC LIMIT 1`,
    params,
  );
  if (newest === undefined) return undefined;
  for (const days of sampleDays) {
    const start = BigInt(newest.micros) - days * dayMicros;
    const range = timeConditions('timestamp', start);
    const sql = `SELECT 1 FROM events WHERE ${[where, ...range.sql].join(' AND ')} LIMIT ${sampleMax}`;
    const [counted] = await store.query<{ found: string }>(`SELECT count() AS found FROM (${sql})`, {
      ...params,
      ...range.params,
    });
    if (Number(counted?.found) === sampleMax) return start;
  }
  return undefined;
}

function nameOf({ name, found, micros }: NameRow): EventName {
  return { name, count: Number(found), lastMicros: BigInt(micros) };
}

/** Determines the type by the first character of the JSON text. */
function typeSql(raw: string): string {
  const first = `substring(${raw}, 1, 1)`;
  const cases = [`'"', 'string'`, `'{', 'object'`, `'[', 'array'`, `'t', 'boolean'`, `'f', 'boolean'`, `'n', 'null'`];
  return `multiIf(${cases.map((each) => `${first} = ${each}`).join(', ')}, 'number')`;
}
