import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

const ofVisit = {
  idSite: '1',
  idVisit: '801',
  $ip: '192.0.2.0',
  $device_id: '4e4eb04b31f37eac',
  userId: 'u-1',
  visitCount: 3,
  $device_type: 'Desktop',
  $os: 'Windows',
  $browser: 'Firefox',
  $geoip_country_code: 'DE',
  $screen_width: 1920,
  $screen_height: 1080,
};

export const matomoExample: Format['example'] = {
  records: [
    {
      idSite: '1',
      idVisit: '801',
      visitIp: '192.0.2.0',
      visitorId: '4e4eb04b31f37eac',
      userId: 'u-1',
      visitCount: '3',
      serverTimestamp: 1714558840,
      firstActionTimestamp: 1714558830,
      lastActionTimestamp: 1714558840,
      serverTimePretty: '12:20:40',
      deviceType: 'Desktop',
      deviceTypeIcon: 'plugins/desktop.png',
      operatingSystemName: 'Windows',
      browserName: 'Firefox',
      countryCode: 'de',
      resolution: '1920x1080',
      actionDetails: [
        { type: 'action', url: 'https://shop.example/cart', pageTitle: 'Cart', pageId: '7001', timestamp: 1714566030 },
        {
          type: 'event',
          eventCategory: 'shop',
          eventAction: 'Order Done',
          eventValue: '12.5',
          url: 'https://shop.example/cart',
          pageId: '7002',
          timestamp: 1714566040,
        },
        { type: 'goal', goalName: 'Order', goalId: '1', timestamp: 1714566040 },
      ],
    },
  ],
  events: importedEvents('matomo', [
    {
      uuid: fastId('matomo', 'identify', '4e4eb04b31f37eac', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.000Z',
      properties: { $anon_distinct_id: '4e4eb04b31f37eac' },
    },
    {
      uuid: fastId('matomo', 'action', '1', '801', 'action', '7001'),
      event: '$pageview',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.000Z',
      properties: {
        ...ofVisit,
        $current_url: 'https://shop.example/cart',
        title: 'Cart',
        pageId: '7001',
        $host: 'shop.example',
        $pathname: '/cart',
      },
    },
    {
      uuid: fastId('matomo', 'action', '1', '801', 'event', '7002'),
      event: 'Order Done',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:40.000Z',
      properties: {
        ...ofVisit,
        eventCategory: 'shop',
        eventAction: 'Order Done',
        eventValue: 12.5,
        $current_url: 'https://shop.example/cart',
        pageId: '7002',
        $host: 'shop.example',
        $pathname: '/cart',
      },
    },
  ]),
};
