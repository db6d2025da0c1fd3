import { createDraw, drawVisitors } from '../../../../test/support/draw.ts';
import type { FormatOptions } from '../format.ts';

const startMs = Date.UTC(2023, 0, 1);

/** Rules for the rows below. */
export const shopMapping: FormatOptions = {
  mapping: JSON.stringify({
    event: { path: 'kind', table: { '1': 'Order Done', '2': 'Order Cancelled' }, else: 'Order Changed' },
    distinct_id: { first: ['customer', 'visitor'] },
    anonymous_id: 'visitor',
    timestamp: { path: 'at', format: 'dd.MM.yyyy HH:mm:ss', zone: 'Europe/Berlin' },
    uuid: 'shop-{number}',
    $set: { email: 'email' },
    groups: { shop: 'shop' },
    others: true,
  }),
};

/** Rules for the objects below, of every kind that there is. */
export const visitMapping: FormatOptions = {
  mapping: JSON.stringify({
    event: { path: 'what', table: { view: '$pageview', gone: '$identify' }, else: 'Other' },
    distinct_id: { first: ['user.id', 'user.visitor'] },
    anonymous_id: 'user.visitor',
    timestamp: 'at',
    uuid: 'id',
    source: 'visits',
    properties: {
      $current_url: 'page.url',
      page: 'page',
      plan: { path: 'user.plan', default: 'none' },
      price: { path: 'price', type: 'number' },
      count: { path: 'count', type: 'text' },
      isPaid: { path: 'paid', type: 'boolean' },
      form: { path: 'form', type: 'json' },
      both: '{what}/{count}',
      app: { constant: 'shop' },
      $device_type: { first: ['page.device', 'device'] },
    },
    others: true,
    $set: { email: 'user.email', plan: { path: 'user.plan', table: { pro: 'Pro' }, else: 'Basic' } },
    $set_once: ['referrer'],
    groups: { company: 'user.company', shop: 'shop' },
    skip: [{ if: 'test', is: [true, 'yes'], reason: 'a test' }, { if: 'deleted' }],
    nothing: ['NULL', 'n/a'],
  }),
};

/** Rules for the customers below. */
export const customersMapping: FormatOptions = {
  mapping: JSON.stringify({
    records: 'persons',
    distinct_id: 'id',
    anonymous_id: 'visitor',
    timestamp: { first: ['updated', 'created'] },
    $set_once: { source: 'came_from' },
  }),
};

/** The same without other ids, and with the other columns as first values. */
export const firstCustomersMapping: FormatOptions = {
  mapping: JSON.stringify({
    records: 'persons',
    distinct_id: 'id',
    timestamp: { constant: '2024-05-01' },
    uuid: 'customer-{id}',
    $set: { mail: 'email', score: { path: 'score', type: 'number' } },
    others: '$set_once',
    nothing: ['NULL'],
  }),
};

/** Rows of a table of customers, each of them several times; the same for the same seed. */
export function* customerRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const number = draw.int(1 + Math.floor(count / 2));
    const at = new Date(startMs + index * 61_000).toISOString();
    yield {
      id: draw.chance(0.9) ? `customer-${number}` : String(9_007_199_254_740_993n + BigInt(number)),
      visitor: draw.chance(0.3) ? `visitor-${number}` : null,
      email: `u${number}@example.com`,
      plan: draw.pick(['pro', 'free', '', 'NULL']),
      score: draw.pick([draw.int(100), `${draw.int(100)}.5`, null]),
      came_from: draw.pick(['ad', 'search']),
      updated: draw.chance(0.8) ? at : null,
      created: at,
    };
  }
}

/** What people did on pages, with objects and texts of JSON in it; the same for the same seed. */
export function* visitRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const number = draw.int(1 + Math.floor(count / 8));
    const page = {
      url: `https://shop.example/p/${draw.int(90)}?a=1`,
      device: draw.pick(['tablet', 'Desktop']),
      depth: 3,
    };
    const user = {
      id: draw.chance(0.6) ? `user-${number}` : null,
      visitor: `visitor-${number}`,
      email: `u${number}@example.com`,
      plan: draw.pick(['pro', 'free', '']),
      company: draw.pick(['north', 'south']),
    };
    const at = startMs + index * 61_000;
    yield {
      what: draw.pick(['view', 'buy', 'leave']),
      id: draw.chance(0.3) ? draw.uuid() : `${draw.hex(6)}-${index}`,
      at: draw.pick([new Date(at).toISOString(), at, String(Math.floor(at / 1000))]),
      user: draw.chance(0.5) ? user : JSON.stringify(user),
      page,
      price: draw.pick([`${draw.int(1000)}.50`, draw.int(1000), '']),
      count: draw.int(100),
      paid: draw.pick(['yes', 'no', true]),
      referrer: draw.pick(['https://a.example/', 'NULL']),
      shop: draw.pick(['east', 'n/a']),
      note: draw.pick(['', 'seen', 'NULL']),
      ...(draw.chance(0.02) ? { test: true } : {}),
      ...(draw.chance(0.02) ? { form: '{"a":[1]}' } : {}),
    };
  }
}

/** Rows of a table of orders, as a CSV file gives them: texts only; the same for the same seed. */
export function* mappingRecords(seed: number, count: number, recordsPerVisit = 1): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const [date = '', time = ''] = new Date(startMs + index * 61_000).toISOString().slice(0, 19).split('T');
    yield {
      kind: draw.pick(['1', '2', '3']),
      number: String(1000 + index),
      at: `${date.split('-').toReversed().join('.')} ${time}`,
      customer: draw.chance(0.6) ? `user-${user}` : '',
      visitor: `visitor-${user}`,
      email: `u${user}@example.com`,
      shop: draw.pick(['north', 'south']),
      total: String(draw.int(10_000) / 100),
      note: '',
    };
  }
}
