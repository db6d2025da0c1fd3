import type { StoreReader } from './eventstore.ts';
import { readableProperties } from './filters.ts';

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
/** Of the newest events: enough to meet every property that is in use, and a fraction of a second of work. */
const sampleMax = 10_000;

/** Where the engine cannot read them otherwise, numbers that no double holds are texts. */
const readable = `if(isValidJSON(properties), properties, ${readableProperties})`;

interface NameRow {
  readonly name: string;
  readonly found: string;
  readonly micros: string;
}

/** Names of a project's events, the most frequent first. Duplicates that a later merge removes count: that makes it cheap. */
export async function eventNames(store: StoreReader, projectId: number): Promise<EventName[]> {
  const rows = await store.query<NameRow>(
    `SELECT toString(event) AS name, count() AS found, toUnixTimestamp64Micro(max(timestamp)) AS micros
FROM events WHERE project_id = {project:Int32}
GROUP BY event ORDER BY count() DESC, name LIMIT ${namesMax}`,
    { project: projectId },
  );
  return rows.map(nameOf);
}

/** Names of the properties of the newest events, all or those of one name; the most frequent first. */
export async function propertyNames(
  store: StoreReader,
  projectId: number,
  event: string | undefined,
): Promise<PropertySample> {
  const params = { project: projectId, ...(event === undefined ? {} : { event }) };
  const sample = `SELECT timestamp, properties FROM events
  WHERE project_id = {project:Int32}${event === undefined ? '' : ' AND event = {event:String}'}
  ORDER BY timestamp DESC LIMIT ${sampleMax}`;
  const [counted, rows] = await Promise.all([
    store.query<{ found: string }>(`SELECT count() AS found FROM (${sample})`, params),
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

function nameOf({ name, found, micros }: NameRow): EventName {
  return { name, count: Number(found), lastMicros: BigInt(micros) };
}

/** By the first character of the JSON text. */
function typeSql(raw: string): string {
  const first = `substring(${raw}, 1, 1)`;
  const cases = [`'"', 'string'`, `'{', 'object'`, `'[', 'array'`, `'t', 'boolean'`, `'f', 'boolean'`, `'n', 'null'`];
  return `multiIf(${cases.map((each) => `${first} = ${each}`).join(', ')}, 'number')`;
}
