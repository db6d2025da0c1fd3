import { createDraw } from '../../../../test/support/draw.ts';
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

/** Rows of a table of orders, as a CSV file gives them: texts only; the same for the same seed. */
export function* mappingRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
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
