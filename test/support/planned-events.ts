/** Events of a shop as client libraries send them, and faults to plant in them, for tests of tracking plans. */
import { isoMicros } from '../../src/base/clock.ts';
import type { PlannedEvent, PropertySchema, TrackingPlan } from '../../src/wire/tracking-plan/plan.ts';
import { createDraw, type Draw } from './draw.ts';

export interface SentEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  /** JSON text, so that every digit is kept. */
  readonly properties: string;
}

const firstAt = Date.UTC(2026, 8, 1);

/** The same events for the same seed. Each property is as rarely missing and of as many types as in real data. */
export function shopEvents(seed: number, count: number): SentEvent[] {
  const draw = createDraw(seed);
  return Array.from({ length: count }, (_, n) => {
    const person = draw.int(Math.max(10, Math.ceil(count / 20)));
    const [event, properties] = draw.pick(makers)(draw, person);
    return {
      uuid: draw.uuid(),
      event,
      distinct_id: `person ${person} "é😀"`,
      timestamp: isoMicros(firstAt + n * 997),
      properties: `{${[...librariesOf(draw), ...properties].join(',')}}`,
    };
  });
}

const text = (name: string, value: string | null): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`;
const raw = (name: string, value: string): string => `${JSON.stringify(name)}:${value}`;

function librariesOf(draw: Draw): string[] {
  return [
    text('$lib', draw.pick(['web', 'posthog-node', 'segment'])),
    raw('$screen_width', String(800 + draw.int(1200))),
    ...(draw.chance(0.1) ? [text(`$active_feature_flag_${draw.int(50)}`, 'on')] : []),
  ];
}

type Maker = (draw: Draw, person: number) => readonly [event: string, properties: readonly string[]];

const makers: readonly Maker[] = [
  (draw) => [
    'Order Completed',
    [
      raw(
        'order_id',
        `${1 + draw.int(9)}${String(draw.int(1e9)).padStart(9, '0')}${String(draw.int(1e9)).padStart(9, '0')}`,
      ),
      raw('total', draw.chance(0.5) ? String(draw.int(500)) : `${draw.int(500)}.${1 + draw.int(9)}0`),
      text('currency', draw.pick(['EUR', 'USD', 'GBP'])),
      text('coupon', draw.chance(0.7) ? null : `SAVE${draw.int(1e6)}`),
      raw('items', `[${Array.from({ length: 1 + draw.int(4) }, () => item(draw)).join(',')}]`),
      text('placed_at', `2026-09-${String(1 + draw.int(28)).padStart(2, '0')}T10:00:00Z`),
    ],
  ],
  (draw) => [
    'produkt gesehen – ü',
    [
      text('sku', `SKU-${draw.hex(8)}`),
      text('category "name"', draw.pick(['Bücher', 'Möbel', '玩具'])),
      raw('position', String(draw.int(40))),
      ...(draw.chance(0.6) ? [text('referrer', `https://example.com/${draw.hex(6)}`)] : []),
    ],
  ],
  (draw, person) => [
    'signed_up',
    [
      text('plan', draw.pick(['free', 'pro', 'team'])),
      text('email', `p${person}.${draw.hex(4)}@example.com`),
      raw('newsletter', draw.pick(['true', 'false'])),
      raw('age', draw.chance(0.2) ? 'null' : String(18 + draw.int(60))),
      raw(
        'address',
        `{"city":${JSON.stringify(draw.pick(['Köln', 'Oslo']))},"zip":"${String(draw.int(99_999)).padStart(5, '0')}"}`,
      ),
    ],
  ],
  (draw) => [
    'search',
    [
      text('query', draw.hex(1 + draw.int(10))),
      raw('results', String(draw.int(1000))),
      raw('took', `${draw.int(2)}.${draw.int(1000)}1`),
      raw('filters', `[${draw.chance(0.5) ? '"new"' : ''}]`),
    ],
  ],
  (draw) => [
    '$pageview',
    [text('$current_url', `https://shop.example/${draw.hex(4)}`), raw('depth', String(draw.int(9)))],
  ],
];

function item(draw: Draw): string {
  return `{"sku":"SKU-${draw.hex(8)}","quantity":${1 + draw.int(5)}}`;
}

/** What the user of the console adds to the learned plan: everything that a sample cannot tell. */
export function refine(plan: TrackingPlan): TrackingPlan {
  const rules: Readonly<Record<string, Readonly<Record<string, PropertySchema>>>> = {
    'Order Completed': {
      total: { minimum: 0, exclusiveMaximum: 1000 },
      order_id: { exclusiveMinimum: 0, maximum: 1e19 },
      coupon: { minLength: 5, maxLength: 20 },
      placed_at: { format: 'date-time' },
      items: {
        minItems: 1,
        maxItems: 10,
        items: {
          type: 'object',
          properties: { sku: { type: 'string' }, quantity: { type: 'integer' } },
          required: ['sku'],
          additionalProperties: false,
        },
      },
    },
    signed_up: { email: { format: 'email' } },
    'produkt gesehen – ü': { referrer: { format: 'uri' } },
  };
  const refined = (event: PlannedEvent): PlannedEvent => {
    const added = rules[event.name] ?? {};
    const properties = Object.entries(event.schema.properties ?? {}).map(
      ([name, schema]) => [name, { ...schema, ...added[name] }] as const,
    );
    return { ...event, schema: { ...event.schema, properties: Object.fromEntries(properties) } };
  };
  return { ...plan, events: plan.events.map(refined) };
}

/** One fault: what is changed in an event of this name, and the rule that it violates. */
export interface Fault {
  readonly event: string;
  readonly property: string;
  readonly rule: string;
  readonly plant: (properties: string) => string;
}

const replaced = (name: string, value: string) => (properties: string) =>
  properties.replace(
    new RegExp(`(${JSON.stringify(JSON.stringify(name)).slice(1, -1)}:)("(?:[^"\\\\]|\\\\.)*"|[^,}\\]]+)`),
    `$1${value}`,
  );
const removed = (name: string) => (properties: string) =>
  properties.replace(new RegExp(`,${JSON.stringify(name)}:("(?:[^"\\\\]|\\\\.)*"|[^,}\\]]+)`), '');
const added = (member: string) => (properties: string) => `${properties.slice(0, -1)},${member}}`;
const items = (value: string) => (properties: string) => properties.replace(/"items":\[.*?\}\]/, `"items":${value}`);

const order = 'Order Completed';
const seen = 'produkt gesehen – ü';

/** Twenty faults that violate twenty different rules. */
export const faults: readonly Fault[] = [
  { event: order, property: 'order_id', rule: 'type', plant: replaced('order_id', '"12"') },
  { event: order, property: 'order_id', rule: 'maximum', plant: replaced('order_id', '10000000000000000001') },
  { event: order, property: 'order_id', rule: 'exclusiveMinimum', plant: replaced('order_id', '0') },
  { event: order, property: 'total', rule: 'minimum', plant: replaced('total', '-0.00000000000000000001') },
  { event: order, property: 'total', rule: 'exclusiveMaximum', plant: replaced('total', '1000.00') },
  { event: order, property: 'total', rule: 'required', plant: removed('total') },
  { event: order, property: 'currency', rule: 'enum', plant: replaced('currency', '"eur"') },
  { event: order, property: 'coupon', rule: 'minLength', plant: replaced('coupon', '"é😀"') },
  { event: order, property: 'coupon', rule: 'maxLength', plant: replaced('coupon', `"${'x'.repeat(21)}"`) },
  { event: order, property: 'placed_at', rule: 'format', plant: replaced('placed_at', '"yesterday"') },
  { event: order, property: 'items', rule: 'minItems', plant: items('[]') },
  { event: order, property: 'items', rule: 'maxItems', plant: items(`[${Array(11).fill('{"sku":"a"}').join(',')}]`) },
  { event: order, property: 'items[].sku', rule: 'required', plant: items('[{"quantity":1}]') },
  { event: order, property: 'items[].quantity', rule: 'type', plant: items('[{"sku":"a","quantity":1.5}]') },
  { event: order, property: 'items[].price', rule: 'additionalProperties', plant: items('[{"sku":"a","price":1}]') },
  { event: seen, property: 'category "name"', rule: 'enum', plant: replaced('category "name"', '"Other"') },
  { event: seen, property: 'colour', rule: 'unplanned_property', plant: added('"colour":"red"') },
  { event: 'signed_up', property: 'email', rule: 'format', plant: replaced('email', '"none"') },
  { event: 'signed_up', property: 'newsletter', rule: 'type', plant: replaced('newsletter', '"yes"') },
  { event: 'order completed', property: '', rule: 'unplanned_event', plant: (properties) => properties },
];

/** Plants each fault in another event, spread over all of them. Returns copies with new uuids among the others. */
export function plantFaults(
  events: readonly SentEvent[],
  seed: number,
): { readonly events: readonly SentEvent[]; readonly planted: ReadonlyMap<string, Fault> } {
  const draw = createDraw(seed);
  const planted = new Map<string, Fault>();
  const all = [...events];
  for (const fault of faults) {
    const like = fault.rule === 'unplanned_event' ? order : fault.event;
    const from = draw.int(all.length);
    const source = [...all.slice(from), ...all.slice(0, from)].find(
      (each) => each.event === like && !planted.has(each.uuid),
    );
    if (source === undefined) throw new Error(`expected an event ${like}, got none`);
    const copy = { ...source, uuid: draw.uuid(), event: fault.event, properties: fault.plant(source.properties) };
    if (fault.rule !== 'unplanned_event' && copy.properties === source.properties) {
      throw new Error(`expected ${fault.rule} of ${fault.property} to change ${source.properties}`);
    }
    JSON.parse(copy.properties);
    planted.set(copy.uuid, fault);
    all.splice(draw.int(all.length), 0, copy);
  }
  return { events: all, planted };
}

/** Names a rule as in the results of the service. */
export function ruleName({ event, property, rule }: Pick<Fault, 'event' | 'property' | 'rule'>): string {
  return `${event} / ${property} / ${rule}`;
}
