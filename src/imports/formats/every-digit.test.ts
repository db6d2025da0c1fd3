import { describe, expect, it } from 'vitest';
import { parseExactValues } from '../../base/exact-json.ts';
import { createPick, deepValue, exactValue } from '../../../test/support/exact-values.ts';
import { createConverter } from '../stages/check/convert-event.ts';
import { segmentLines } from '../stages/check/segment-lines.ts';
import { canonicalJson } from './canonical-json.ts';
import type { Format } from './format.ts';
import { isObject } from '../../base/json.ts';
import { formats } from './registry.ts';

/** In all; each format gets its share. */
const records = 10_000;
const marker = '@carried@';

type Example = Pick<Format['example'], 'records' | 'options'>;

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

/** The stored text of every list that begins with the marker. */
function carried(json: string): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value) && value[0] === marker) found.push(canonicalJson(value));
    else if (Array.isArray(value)) value.forEach(look);
    else if (isObject(value)) Object.values(value).forEach(look);
  };
  look(parseExactValues(json));
  return found;
}

function storedOf(format: Format, line: string): string[] {
  const read = format.createReader(exampleOf(format).options ?? {}, format.names);
  const convert = createConverter({ runId: 'r', eventBytesMax: 1 << 20, now: () => Date.now(), onProperty: () => {} });
  const [parsed] = segmentLines(Buffer.from(line));
  if (parsed?.kind !== 'record') throw new Error(`expected a record, got: ${line}`);
  const result = read(parsed.record);
  const events = result.kind === 'events' ? result.events : [];
  return events.flatMap((event) => {
    const ready = convert(event);
    return ready.kind === 'ready' ? carried(ready.json) : [];
  });
}

/** The value in the line: as it is, or within a column that is text. */
function withValue(template: string, value: string): string {
  const list = `["${marker}",${value}]`;
  const plain = `"${marker}"`;
  if (template.includes(`:${plain}`)) return template.replace(plain, () => list);
  return template.replace(JSON.stringify(plain).slice(1, -1), () => JSON.stringify(list).slice(1, -1));
}

const carriers = formats
  .map((format) => {
    const usable = templates(format).filter((template) => storedOf(format, withValue(template, '1')).length > 0);
    return [format.slug, format, usable] as const;
  })
  .filter(([, , usable]) => usable.length > 0);

describe('every digit survives', () => {
  it('every format that has properties of its own is looked at', () => {
    const without = formats.map(({ slug }) => slug).filter((slug) => !carriers.some(([name]) => name === slug));
    expect(without).toEqual([]);
  });

  it.each(carriers)('%s: what a record says is what is sent, in canonical form', (_slug, format, usable) => {
    const pick = createPick(format.slug.length * 7919);
    for (let count = 0; count < records / carriers.length; count += 1) {
      const value = count % 20 === 0 ? deepValue(2 * pick(12), exactValue(pick)) : exactValue(pick);
      const template = usable[count % usable.length] ?? '';
      const expected = canonicalJson(parseExactValues(`["${marker}",${value}]`));
      const stored = storedOf(format, withValue(template, value));
      expect(new Set(stored)).toEqual(new Set([expected]));
    }
  });
});
