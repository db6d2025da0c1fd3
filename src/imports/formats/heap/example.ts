import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const heapExample: Format['example'] = {
  options: { event: 'order_done' },
  records: [
    {
      event_id: '7120340120340',
      user_id: '4810060720600030',
      session_id: '3301200770110',
      time: '2024-05-01 10:20:30.123 UTC',
      platform: 'Mac OS X 10.15.7',
      browser: 'Chrome',
      library: 'web',
      country: 'Germany',
      domain: 'shop.example',
      path: '/cart',
      query: '?step=1',
      hash: '',
      landing_page: 'https://shop.example/',
      total: '12.50',
    },
    {
      user_id: '4810060720600030',
      identity: 'u-1',
      email: 'a@b.example',
      joindate: 1714552200000,
      last_modified: 1714558890000,
      initial_referrer: 'direct',
    },
  ],
  events: importedEvents('heap', [
    {
      uuid: fastId('heap', 'event', '7120340120340', 'order_done'),
      event: 'order_done',
      distinct_id: '4810060720600030',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: {
        session_id: '3301200770110',
        $browser: 'Chrome',
        $lib: 'web',
        $geoip_country_name: 'Germany',
        $host: 'shop.example',
        $pathname: '/cart',
        query: '?step=1',
        total: '12.50',
        $os: 'Mac OS X',
        $os_version: '10.15.7',
        $current_url: 'https://shop.example/cart?step=1',
        landing_page: 'https://shop.example/',
      },
    },
    {
      uuid: fastId('heap', 'identify', '4810060720600030', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:21:30.000Z',
      properties: { $anon_distinct_id: '4810060720600030', $import_identity: 'joined' },
    },
    {
      uuid: fastId(
        'heap',
        'profile',
        'u-1',
        '{"$set":{"email":"a@b.example","last_modified":"2024-05-01T10:21:30.000Z"},' +
          '"$set_once":{"$initial_referrer":"direct","joindate":"2024-05-01T08:30:00.000Z"}}',
      ),
      event: '$set',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:21:30.000Z',
      properties: {
        $set: { email: 'a@b.example', last_modified: '2024-05-01T10:21:30.000Z' },
        $set_once: { $initial_referrer: 'direct', joindate: '2024-05-01T08:30:00.000Z' },
      },
    },
  ]),
};
