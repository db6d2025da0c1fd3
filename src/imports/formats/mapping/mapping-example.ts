import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

const rules = {
  event: { path: 'kind', table: { '1': 'Order Done', '2': 'Order Cancelled' }, else: 'Order Changed' },
  distinct_id: { first: ['customer.id', 'visitor'] },
  anonymous_id: 'visitor',
  timestamp: { path: 'at', format: 'dd.MM.yyyy HH:mm:ss', zone: 'Europe/Berlin' },
  uuid: '{shop}-{number}',
  properties: { total: { path: 'total', type: 'number' }, currency: { constant: 'EUR' }, $current_url: 'page' },
  $set: { email: 'customer.email' },
  groups: { shop: 'shop' },
  skip: [{ if: 'test', is: ['yes', 'true'], reason: 'a test order' }],
};

export const mappingExample: Format['example'] = {
  options: { mapping: JSON.stringify(rules) },
  records: [
    {
      kind: 1,
      customer: { id: 'u1', email: 'a@b.example' },
      visitor: 'v1',
      at: '04.07.2021 12:30:00',
      shop: 'north',
      number: 17,
      total: '12.50',
      test: 'no',
    },
    { kind: 2, visitor: 'v2', at: '04.01.2021 12:30:00', shop: 'north', number: 18, test: 'yes' },
  ],
  events: importedEvents('mapping', [
    {
      uuid: '37f2760e-82cb-5014-8fc1-23a914f7157f',
      event: '$identify',
      distinct_id: 'u1',
      timestamp: '2021-07-04T10:30:00.000Z',
      properties: { $anon_distinct_id: 'v1' },
    },
    {
      uuid: 'd9e77a07-d202-5fcd-8d44-c540d35e9db4',
      event: 'Order Done',
      distinct_id: 'u1',
      timestamp: '2021-07-04T10:30:00.000Z',
      properties: {
        total: 12.5,
        currency: 'EUR',
        $set: {
          email: 'a@b.example',
        },
        $groups: {
          shop: 'north',
        },
      },
    },
  ]),
};
