/** For tests: records of every format with a value of ours at each place that may hold what a customer made up. */
import { parseExactValues } from '../../src/base/exact-json.ts';
import { isObject } from '../../src/base/json.ts';
import { canonicalJson } from '../../src/base/canonical-json.ts';
import type { Format, FormatOptions } from '../../src/imports/formats/format.ts';
import { formats } from '../../src/imports/formats/registry.ts';
import { createConverter } from '../../src/imports/stages/check/segment/convert-event.ts';
import { segmentLines } from '../../src/imports/stages/check/segment/segment-lines.ts';

const marker = '@carried@';

type Example = Pick<Format['example'], 'records'> & Partial<Pick<Format['example'], 'options'>>;

/** Where the example of the format shows no place for what a customer made up. */
const examples: Readonly<Record<string, Example>> = {
  mapping: {
    records: [{ id: 'u1', kind: 'Order', at: '2024-05-01T00:00:00Z', text: '{"a":1}' }],
    options: {
      mapping: JSON.stringify({
        event: 'kind',
        distinct_id: 'id',
        timestamp: 'at',
        uuid: '{id}-{at}',
        properties: { text: { path: 'text', type: 'json' } },
        others: true,
      }),
    },
  },
  snowplow: {
    records: [
      {
        event: 'unstruct',
        event_id: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
        user_id: 'u1',
        derived_tstamp: '2024-05-01 10:20:30.123',
        unstruct_event: '{"data":{"schema":"iglu:com.acme/cart/jsonschema/1-0-0","data":{"a":1}}}',
      },
    ],
  },
};

/** The example with which the format carries values. */
function exampleOf({ slug, example }: Format): Example {
  return examples[slug] ?? example;
}

/** Records of the format's example as text, with a value put at every place that may hold what a customer made up. */
function templates(format: Format): string[] {
  return exampleOf(format).records.flatMap((record) => places(record).map((place) => JSON.stringify(place)));
}

/** Copies of a record in which one object, or one column that holds JSON as text, has a further member. */
function places(value: unknown): unknown[] {
  if (typeof value === 'string' && /^\{.*\}$/s.test(value)) {
    return places(JSON.parse(value)).map((place) => JSON.stringify(place));
  }
  if (Array.isArray(value)) {
    return value.flatMap((each, index) => places(each).map((place) => value.with(index, place)));
  }
  if (!isObject(value)) return [];
  const below = Object.entries(value).flatMap(([key, each]) =>
    places(each).map((place) => Object.assign(structuredClone(value), { [key]: place })),
  );
  return [{ ...value, carried: marker }, ...below];
}

/** Canonical texts of every list in the JSON that begins with the marker. */
export function carriedIn(json: string): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value) && value[0] === marker) found.push(canonicalJson(value));
    else if (Array.isArray(value)) value.forEach(look);
    else if (isObject(value)) Object.values(value).forEach(look);
  };
  look(parseExactValues(json));
  return found;
}

/** What `carriedIn` finds of a value that came through unharmed. */
export function carriedText(value: string): string {
  return canonicalJson(parseExactValues(`["${marker}",${value}]`));
}

interface MadeEvent {
  readonly uuid: string;
  readonly json: string;
}

/** The events that an import makes of a record of the format. */
export function eventsOfLine(format: Format, line: string): MadeEvent[] {
  const read = format.createReader(exampleOf(format).options ?? {}, format.names);
  const convert = createConverter({
    runId: 'r',
    eventBytesMax: 1 << 20,
    now: () => Date.now(),
    names: { onKey: () => {}, onNestedKey: () => {} },
  });
  const [parsed] = segmentLines(Buffer.from(line));
  if (parsed?.kind !== 'record') throw new Error(`expected a record, got: ${line}`);
  const result = read(parsed.record);
  const events = result.kind === 'events' ? result.events : [];
  return events.flatMap((event) => {
    const ready = convert(event);
    return ready.kind === 'ready' ? [{ uuid: ready.uuid, json: ready.json }] : [];
  });
}

/** The record with a value (JSON text, or several with commas): as it is, or within a column that is text. */
export function withValue(template: string, value: string): string {
  const list = `["${marker}",${value}]`;
  const plain = `"${marker}"`;
  if (template.includes(`:${plain}`)) return template.replace(plain, () => list);
  return template.replace(JSON.stringify(plain).slice(1, -1), () => JSON.stringify(list).slice(1, -1));
}

/** A format whose events have properties that a customer made up. */
export interface Carrier {
  readonly format: Format;
  readonly options: FormatOptions;
  /** Records as text, for `withValue`. */
  readonly templates: readonly string[];
}

export function listCarriers(): Carrier[] {
  return formats.flatMap((format) => {
    const usable = templates(format).filter((template) => carries(format, withValue(template, '1')));
    return usable.length === 0 ? [] : [{ format, options: exampleOf(format).options ?? {}, templates: usable }];
  });
}

function carries(format: Format, line: string): boolean {
  return eventsOfLine(format, line).some(({ json }) => carriedIn(json).length > 0);
}

/** Makes of a template one record after another of which no two are the same event. */
export function createRecords(format: Format, template: string): (n: number) => string {
  const record: unknown = JSON.parse(template);
  const carrying = (line: string): string[] =>
    eventsOfLine(format, withValue(line, '1')).flatMap(({ uuid, json }) => (carriedIn(json).length > 0 ? [uuid] : []));
  const before = new Set(carrying(template));
  const makers = leaves(record).map((leaf) => (n: number) => JSON.stringify(changed(record, leaf, n)));
  const maker = makers.find((make) => {
    const events = [1, 175, 99_999].map((n) => carrying(make(n)));
    return events.every((uuids) => uuids.length > 0 && uuids.every((uuid) => !before.has(uuid)));
  });
  if (maker === undefined) throw new Error(`expected a place that tells events apart in: ${template}`);
  return maker;
}

type Leaf = readonly (string | number)[];

/** Where texts and numbers stand. */
function leaves(value: unknown, at: Leaf = []): Leaf[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => leaves(each, [...at, index]));
  if (isObject(value)) return Object.entries(value).flatMap(([key, each]) => leaves(each, [...at, key]));
  return (typeof value === 'string' && value !== marker) || typeof value === 'number' ? [at] : [];
}

function changed(value: unknown, [key, ...rest]: Leaf, n: number): unknown {
  if (key === undefined) return variant(value, n);
  if (Array.isArray(value)) return value.with(Number(key), changed(value[Number(key)], rest, n));
  if (!isObject(value)) return value;
  return { ...value, [key]: changed(value[key], rest, n) };
}

/** The `n`th of its kind: digits stay digits, ids stay ids. */
function variant(value: unknown, n: number): unknown {
  if (typeof value === 'number') return value + n;
  const text = String(value);
  if (/^\d{6,}$/.test(text)) return text.slice(0, -6) + String(n).padStart(6, '0');
  if (/[0-9a-f]{6}$/i.test(text)) return text.slice(0, -6) + n.toString(16).padStart(6, '0');
  return `${text}-${n}`;
}
