import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

const properties = {
  $current_url: 'https://shop.example/cart',
  $host: 'shop.example',
  $pathname: '/cart',
  $synthetic: true,
  $process_person_profile: false,
};

export const plausibleExample: Format['example'] = {
  options: { synthesise: 'yes' },
  records: [
    {
      date: '2024-05-01',
      hostname: 'shop.example',
      page: '/cart',
      visitors: '1',
      pageviews: '2',
      exits: '1',
      time_on_page: '30',
    },
    { date: '2024-05-01', browser: 'Firefox', visitors: '1', visits: '1', visit_duration: '60', bounces: '0' },
  ],
  events: importedEvents('plausible', [
    {
      uuid: fastId('plausible', 'pageview', '2024-05-01', 'shop.example', '/cart', '0'),
      event: '$pageview',
      distinct_id: 'plausible-2024-05-01-0',
      timestamp: '2024-05-01T06:00:00.000Z',
      properties,
    },
    {
      uuid: fastId('plausible', 'pageview', '2024-05-01', 'shop.example', '/cart', '1'),
      event: '$pageview',
      distinct_id: 'plausible-2024-05-01-0',
      timestamp: '2024-05-01T18:00:00.000Z',
      properties,
    },
  ]),
};
