import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';
import { snowplowColumns } from './columns.ts';

const cells: Readonly<Record<string, string>> = {
  app_id: 'shop',
  platform: 'web',
  collector_tstamp: '2024-05-01 10:20:30.456',
  event: 'page_view',
  event_id: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
  user_id: 'u-1',
  domain_userid: 'd-1',
  domain_sessionidx: '3',
  page_url: 'https://shop.example/cart?step=1',
  page_urlhost: 'shop.example',
  page_urlpath: '/cart',
  br_family: 'Firefox',
  dvce_type: 'Computer',
  derived_tstamp: '2024-05-01 10:20:30.123',
  event_name: 'page_view',
};

export const snowplowExample: Format['example'] = {
  records: [snowplowColumns.map((column) => cells[column] ?? '').join('\t')],
  events: importedEvents('snowplow', [
    {
      uuid: fastId('snowplow', 'identify', 'd-1', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: { $anon_distinct_id: 'd-1' },
    },
    {
      uuid: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
      event: '$pageview',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: {
        app_id: 'shop',
        platform: 'web',
        collector_tstamp: '2024-05-01 10:20:30.456',
        $device_id: 'd-1',
        domain_sessionidx: 3,
        $current_url: 'https://shop.example/cart?step=1',
        $host: 'shop.example',
        $pathname: '/cart',
        $browser: 'Firefox',
        $device_type: 'Desktop',
        event_name: 'page_view',
      },
    },
  ]),
};
