import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { damagedLine, damages, type Damage } from '../../../../../test/support/damaged-lines.ts';
import { checkWithBoth, type CheckOptions } from '../../../../../test/support/compare-executors.ts';
import { amplitude } from '../../../formats/amplitude/amplitude.ts';
import { amplitudeRecords } from '../../../formats/amplitude/records.fixture.ts';
import { ga4 } from '../../../formats/ga4/ga4.ts';
import { ga4Records } from '../../../formats/ga4/records.fixture.ts';
import type { Format, NameTable } from '../../../formats/format.ts';
import { heap } from '../../../formats/heap/heap.ts';
import { heapRecords } from '../../../formats/heap/records.fixture.ts';
import { mapping } from '../../../formats/mapping/mapping.ts';
import {
  customerRecords,
  customersMapping,
  firstCustomersMapping,
  mappingRecords,
  shopMapping,
  visitMapping,
  visitRecords,
} from '../../../formats/mapping/records.fixture.ts';
import { mixpanel } from '../../../formats/mixpanel/mixpanel.ts';
import { mixpanelRecords } from '../../../formats/mixpanel/records.fixture.ts';
import { pendo } from '../../../formats/pendo/pendo.ts';
import { pendoRecords } from '../../../formats/pendo/records.fixture.ts';
import { posthog } from '../../../formats/posthog/posthog.ts';
import { posthogRecords } from '../../../formats/posthog/records.fixture.ts';
import { segmentRecords } from '../../../formats/segment/records.fixture.ts';
import { formats } from '../../../formats/registry.ts';
import { segment } from '../../../formats/segment/segment.ts';

interface Covered {
  readonly name?: string;
  readonly format: Format;
  readonly records: (seed: number, count: number) => Iterable<unknown>;
  /** Minimum share of records that the converter handles. */
  readonly share: number;
  readonly options: readonly CheckOptions[];
}

/** Maps several names to one property, and names to names that others already have. */
const crossed = (format: Format): NameTable => ({
  ...format.names,
  events: { ...format.names.events, 'Signed Up': 'Joined', 'Item Viewed': null, 'Order Done': '$identify' },
  properties: {
    ...format.names.properties,
    price: '$os',
    plan: 'price',
    $browser: '$lib',
    total: '$browser',
    token: null,
    'column:team_id': 'total',
    'column:region': '$geoip_country_code',
    'column:platform': '$os',
    $lib_version: 'tags',
    mp_lib: 'ä',
    $region: '1',
  },
});

const tight: CheckOptions = { eventBytesMax: 1500 };

const inNewYork = { time_zone: 'America/New_York' };

/** Uuids are derived from the content. */
const withoutId = { mapping: JSON.stringify({ event: 'what', distinct_id: 'shop', timestamp: 'at' }) };

const covered: readonly Covered[] = [
  {
    format: mixpanel,
    records: (seed, count) => mixpanelRecords(seed, count, 3),
    share: 0.8,
    options: [
      {},
      { formatOptions: { time_zone: 'America/New_York', groups: 'tags:label,price', identify: 'no' } },
      { names: crossed(mixpanel), ...tight },
    ],
  },
  {
    format: amplitude,
    records: amplitudeRecords,
    share: 0.8,
    options: [
      {},
      { formatOptions: { identify: 'no' }, names: crossed(amplitude) },
      {
        names: { ...amplitude.names, person_properties: { initial_referrer: 'plan', plan: 'initial_plan' } },
        ...tight,
      },
    ],
  },
  {
    format: posthog,
    records: posthogRecords,
    share: 0.8,
    options: [
      {},
      { formatOptions: { time_zone: 'America/New_York', person_properties: 'ignore' } },
      { names: crossed(posthog), ...tight },
      { names: { ...posthog.names, person_properties: { seats: 'plan', plan: 'size' } } },
    ],
  },
  {
    format: segment,
    records: segmentRecords,
    share: 0.8,
    options: [{}, { formatOptions: { duplicates: 'drop' } }, tight, { names: crossed(segment) }],
  },
  {
    format: ga4,
    records: ga4Records,
    share: 0.8,
    options: [
      {},
      { formatOptions: { without_user: 'anonymous' }, names: crossed(ga4) },
      {
        names: {
          ...ga4.names,
          properties: { ...ga4.names.properties, items: '$groups', value: '$set', geo_country: '$geoip_country_code' },
          person_properties: { plan: 'user_ltv_revenue', user_first_touch_timestamp: 'first' },
        },
        ...tight,
      },
    ],
  },
  {
    name: 'heap, event tables',
    format: heap,
    records: (seed, count) => [...heapRecords(seed, count * 2)].filter(({ event_id: id }) => id !== undefined),
    share: 0.8,
    options: [
      { formatOptions: inNewYork },
      { formatOptions: inNewYork, names: { ...crossed(heap), events: { order_done: null } }, ...tight },
    ],
  },
  {
    name: 'heap, all tables',
    format: heap,
    records: heapRecords,
    share: 0.5,
    options: [{ formatOptions: inNewYork }],
  },
  {
    format: pendo,
    records: pendoRecords,
    share: 0.8,
    options: [{}, { formatOptions: { group_type: 'company' }, names: crossed(pendo) }, tight],
  },
  {
    name: 'mapping of rows',
    format: mapping,
    records: mappingRecords,
    share: 0.8,
    options: [
      { formatOptions: shopMapping },
      { formatOptions: shopMapping, ...tight },
      { formatOptions: shopMapping, names: { ...mapping.names, events: { 'Order Done': null, '2': 'Gone' } } },
    ],
  },
  {
    name: 'mapping of objects',
    format: mapping,
    records: visitRecords,
    share: 0.8,
    options: [
      { formatOptions: visitMapping },
      { formatOptions: visitMapping, ...tight },
      { formatOptions: withoutId, names: { ...mapping.names, events: { leave: null } } },
    ],
  },
  {
    name: 'mapping of persons',
    format: mapping,
    records: customerRecords,
    share: 0.8,
    options: [
      { formatOptions: customersMapping },
      { formatOptions: customersMapping, ...tight },
      { formatOptions: firstCustomersMapping },
      { formatOptions: customersMapping, names: { ...mapping.names, person_properties: { plan: 'tariff' } } },
    ],
  },
];

function linesOf(records: Iterable<unknown>): string[] {
  return Array.from(records, (record) => JSON.stringify(record));
}

function segmentsOf(lines: readonly string[]): Buffer[] {
  const middle = Math.floor(lines.length / 2);
  return [lines.slice(0, middle), lines.slice(middle)].map((some) =>
    Buffer.from(some.map((line) => `${line}\n`).join('')),
  );
}

/** Damages a JSON text in the line instead of the line itself. */
function damagedWithin(line: string, damage: Damage): string {
  const texts = [...line.matchAll(/"(?:[^"\\]|\\.)*"/g)].filter(([text]) => text.startsWith('"{'));
  const found = texts[damage.place % Math.max(1, texts.length)];
  if (found === undefined) return damagedLine(line, damage);
  const [text] = found;
  const damaged = JSON.stringify(damagedLine(String(JSON.parse(text)), damage));
  return line.slice(0, found.index) + damaged + line.slice(found.index + text.length);
}

/** Searches for lines, some of them damaged, for which the executors differ; null if none is found. */
async function findDifference({ format, records }: Covered, given: CheckOptions): Promise<unknown> {
  const property = fc.asyncProperty(fc.integer(), fc.array(damages, { maxLength: 60 }), async (seed, damage) => {
    const lines = linesOf(records(seed, 40));
    for (const each of damage) {
      const at = each.line % lines.length;
      lines[at] = each.place % 3 === 0 ? damagedWithin(lines[at] ?? '', each) : damagedLine(lines[at] ?? '', each);
    }
    // The other segment repeats some lines.
    const { fast, reader } = await checkWithBoth(format, segmentsOf([...lines, ...lines.slice(0, 8)]), given);
    return isDeepStrictEqual(fast, reader);
  });
  return (await fc.check(property, { numRuns: 12 })).counterexample;
}

it('every format whose map declares usual records is covered', () => {
  const slugs = covered.map(({ format: { slug } }) => slug);
  const withUsual = formats.filter(({ createReader, example, names }) => {
    return createReader(example.options, names).map?.usual !== undefined;
  });
  expect(slugs).toEqual(expect.arrayContaining(withUsual.map(({ slug }) => slug)));
});

it('an event with too many keys for ingest is refused by both executors', async () => {
  const uuid = '018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b';
  const event = { uuid, event: 'x', distinct_id: 'd1', timestamp: '2024-05-01T10:20:30Z' };
  const member = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`m${index}`, index]));
  const lines = [0, 400].map((length) =>
    JSON.stringify({ ...event, properties: { list: Array.from({ length }, () => member) } }),
  );
  const all = [lines[0] ?? '', ...lines];
  const { fast, reader, converted } = await checkWithBoth(posthog, segmentsOf(all));
  expect(fast).toEqual(reader);
  expect(converted).toBe(1);
  expect(fast.rejected.join('')).toContain('too_many_keys');
});

it('a name that is too long to be cached is converted like any other', async () => {
  const event = '名'.repeat(100);
  const lines = [1, 2, 3].map((number) =>
    JSON.stringify({ event, properties: { time: 1_700_000_000 + number, distinct_id: 'u1', $insert_id: `${number}` } }),
  );
  const { fast, reader, converted } = await checkWithBoth(mixpanel, segmentsOf(lines));
  expect(fast).toEqual(reader);
  // The reader handles the first record as a sample.
  expect(converted).toBe(2);
});

it('an object in an excluded column is flattened by both executors', async () => {
  const lines = linesOf(ga4Records(3, 20)).map((line) => line.replace(/"event_date":"\d+"/, '"event_date":{"b":1}'));
  const { fast, reader } = await checkWithBoth(ga4, segmentsOf(lines));
  expect(fast).toEqual(reader);
  expect(JSON.stringify(fast.events)).toContain('event_date_b');
});

it('a country of two letters becomes a code in both executors', async () => {
  const base = { visitorId: 'u-1', browserTimestamp: 1_714_558_830_123, eventType: 'load' };
  const all = [
    { country: 'de', a: 1 },
    { a: 1, country: '  ', url: 'https://a.example/x' },
    { country: 'DE', $geoip_country_code: 'fr' },
    { country: 'DE', propertiesJson: '{"$geoip_country_code":"fr"}' },
    { country: 'é!' },
    { country: 'Germany' },
  ];
  const lines = all.map((row, at) => JSON.stringify({ ...base, eventId: `e-${at}`, ...row }));
  const { fast, reader, converted } = await checkWithBoth(pendo, segmentsOf([lines[5] ?? '', ...lines]));
  expect(fast).toEqual(reader);
  // The reader handles the first record as a sample, and multi-byte letters.
  expect(converted).toBe(5);
  const codes = fast.events.map((event) => /"\$geoip_country_code":("[^"]*")/.exec(event.map(String).join(' '))?.[1]);
  expect(codes.toSorted()).toEqual(['"  "', '"DE"', '"FR"', '"FR"', '"É!"', undefined, undefined]);
});

/** Many records take long on a slow machine. */
const patienceMs = 120_000;

describe.each(covered.map((each) => [each.name ?? each.format.slug, each] as const))('%s', (_slug, each) => {
  it('most records are converted without objects, with the same result', async () => {
    const lines = linesOf(each.records(1, 1000));
    const { fast, reader, converted } = await checkWithBoth(each.format, segmentsOf(lines), each.options[0]);
    expect(fast).toEqual(reader);
    expect(converted).toBeGreaterThan(lines.length * each.share);
  });

  it('person properties of events without a profile are omitted by both executors', async () => {
    const member = { kind: 'member', line: 0, name: '$process_person_profile' } as const;
    const lines = linesOf(each.records(2, 60)).map((line, place) =>
      damagedLine(line, { ...member, place, value: place % 4 === 0 ? 'true' : 'false' }),
    );
    for (const given of each.options) {
      const { fast, reader } = await checkWithBoth(each.format, segmentsOf(lines), given);
      expect(fast).toEqual(reader);
    }
  });

  it.each(each.options.map((given, index) => [index, given] as const))(
    'damaged records give the same result in both executors: options %i',
    async (_index, given) => {
      expect(await findDifference(each, given)).toBeNull();
    },
    patienceMs,
  );
});
