import { canonicalJson } from '../../../base/canonical-json.ts';
import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

const row = {
  type: 'track',
  name: 'Report created',
  user_id: 'u-1',
  anonymous_id: 'a-1',
  timestamp: '2024-05-01 10:20:30.123456 UTC',
  properties: '{"pages":3}',
  context: '{"page":{"url":"https://app.example/reports"},"locale":"en-GB"}',
};

export const juneExample: Format['example'] = {
  records: [row],
  events: importedEvents('june', [
    {
      uuid: fastId('june', 'identify', 'a-1', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123456Z',
      properties: { $anon_distinct_id: 'a-1' },
    },
    {
      uuid: fastId('june-content', canonicalJson(row)),
      event: 'Report created',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123456Z',
      properties: {
        $current_url: 'https://app.example/reports',
        $locale: 'en-GB',
        pages: 3,
        $host: 'app.example',
        $pathname: '/reports',
      },
    },
  ]),
};
