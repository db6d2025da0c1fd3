import type { StoreReader } from './eventstore.ts';
import { readableProperties, type EventFilter } from './filters.ts';
import { selectionConditions } from './selection.ts';

/** What the properties of stored events of one name look like. */
export interface EventShape {
  readonly name: string;
  /** Sampled events of this name. */
  readonly count: number;
  /** Most frequent first. */
  readonly properties: readonly PropertyShape[];
}

export interface PropertyShape {
  readonly name: string;
  /** Sampled events that have it. */
  readonly count: number;
  /** JSON type → number of values. Whole numbers are `integer`. */
  readonly types: Readonly<Record<string, number>>;
  /** Every text value, as a JSON string; `undefined` if there are too many different ones, or long ones. */
  readonly texts: readonly string[] | undefined;
}

export interface ShapesFound {
  /** Events that match. */
  readonly total: number;
  readonly sampled: number;
  /** Most frequent first. */
  readonly events: readonly EventShape[];
  /** Names beyond the limit. */
  readonly moreEvents: number;
}

export interface ShapeLimits {
  /** Events to sample; all if there are at most this many. */
  readonly sampleMax: number;
  readonly eventsMax: number;
  /** Of one event. */
  readonly propertiesMax: number;
  /** Different texts of a property up to which they are returned. */
  readonly textsMax: number;
  readonly textCharsMax: number;
}

interface CountRow {
  readonly name: string;
  readonly found: string;
}

interface ShapeRow {
  readonly name: string;
  readonly property: string;
  readonly found: string;
  readonly type_names: readonly string[];
  readonly type_counts: readonly string[];
  /** JSON strings. */
  readonly texts: readonly string[];
  readonly longest: string;
}

/** Names with `$` belong to client libraries. */
const isOwn = (column: string): string => `NOT startsWith(${column}, '$')`;

/**
 * Samples stored events, the same ones each time, and returns the properties of each name. Names of client libraries are skipped. Counts
 * duplicates that a later merge removes.
 */
export async function eventShapes(
  store: StoreReader,
  projectId: number,
  filter: EventFilter,
  limits: ShapeLimits,
): Promise<ShapesFound> {
  const { sql, params } = selectionConditions(projectId, filter);
  const where = [...sql, isOwn('event')].join(' AND ');
  const [counted] = await store.query<{ found: string }>(`SELECT count() AS found FROM events WHERE ${where}`, params);
  const total = Number(counted?.found ?? 0);
  const every = Math.max(1, Math.ceil(total / limits.sampleMax));
  const sample = every === 1 ? where : `${where} AND sipHash64(uuid) % ${every} = 0`;
  const names = await store.query<CountRow>(
    `SELECT toString(event) AS name, count() AS found FROM events WHERE ${sample} GROUP BY name ORDER BY count() DESC, name`,
    params,
  );
  const shown = names.slice(0, limits.eventsMax);
  const rows = shown.length === 0 ? [] : await propertyRows(store, { sample, params, limits }, shown);
  const byName = Map.groupBy(rows, ({ name }) => name);
  return {
    total,
    sampled: names.reduce((sum, { found }) => sum + Number(found), 0),
    events: shown.map(({ name, found }) => ({
      name,
      count: Number(found),
      properties: (byName.get(name) ?? []).map((row) => toShape(row, limits)),
    })),
    moreEvents: names.length - shown.length,
  };
}

interface Sample {
  readonly sample: string;
  readonly params: Parameters<StoreReader['query']>[1];
  readonly limits: ShapeLimits;
}

const raw = 'tupleElement(pair, 2)';
const first = `substring(${raw}, 1, 1)`;
/** Types by the JSON text. Where the engine reads long numbers only as texts, a text of digits may have been either. */
const typesSql = `multiIf(
  ${first} = '"', if(NOT is_plain AND match(${raw}, '^"-?[0-9][0-9.eE+-]*"$'), ['string', 'number'], ['string']),
  ${first} = '{', ['object'], ${first} = '[', ['array'], ${first} = 'n', ['null'], ${first} IN ('t', 'f'), ['boolean'],
  match(${raw}, '^-?[0-9]+$'), ['integer'], ['number'])`;

async function propertyRows(
  store: StoreReader,
  { sample, params, limits: { textsMax, propertiesMax } }: Sample,
  names: readonly CountRow[],
): Promise<readonly ShapeRow[]> {
  // A name that arrives in between is skipped.
  const shown = names.map(({ name }) => name);
  return store.query<ShapeRow>(
    `SELECT name, property, count() AS found,
  tupleElement(sumMap(types, arrayMap(x -> toUInt64(1), types)) AS sums, 1) AS type_names,
  arrayMap(x -> toString(x), tupleElement(sums, 2)) AS type_counts,
  groupUniqArrayIf(${textsMax + 1})(value, has(types, 'string')) AS texts,
  maxIf(lengthUTF8(value), has(types, 'string')) AS longest
FROM (
  SELECT toString(event) AS name, tupleElement(pair, 1) AS property, ${raw} AS value, ${typesSql} AS types
  FROM (SELECT event, properties, isValidJSON(properties) AS is_plain FROM events WHERE ${sample})
  ARRAY JOIN JSONExtractKeysAndValuesRaw(if(is_plain, properties, ${readableProperties})) AS pair
  WHERE has({shown:Array(String)}, name) AND ${isOwn('property')}
)
GROUP BY name, property
ORDER BY count() DESC, property LIMIT ${propertiesMax} BY name`,
    { ...params, shown },
  );
}

function toShape(row: ShapeRow, { textsMax, textCharsMax }: ShapeLimits): PropertyShape {
  const { property, found, type_names: names, type_counts: counts, texts, longest } = row;
  const isFew = texts.length <= textsMax && Number(longest) <= textCharsMax;
  return {
    name: property,
    count: Number(found),
    types: Object.fromEntries(names.map((name, index) => [name, Number(counts[index])])),
    texts: isFew ? texts.toSorted() : undefined,
  };
}
