import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const posthogExample: Format['example'] = {
  records: [
    {
      uuid: '018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b',
      event: '$autocapture',
      distinct_id: 'd1',
      person_id: '018f3a2b-0000-7000-8000-000000000001',
      properties: '{"$current_url":"https://shop.example/cart"}',
      person_properties: '{"plan":"pro"}',
      elements_chain: 'button:text="Buy"nth-child="1"',
      timestamp: '2024-05-01 10:20:30.123456',
      created_at: '2024-05-01 10:20:31.000000',
      _inserted_at: '2024-05-01 10:20:32.000000',
    },
    {
      team_id: 1,
      distinct_id: 'd1',
      person_id: '018f3a2b-0000-7000-8000-000000000001',
      properties: { plan: 'pro' },
      person_version: 3,
      created_at: '2024-04-01T00:00:00Z',
      _inserted_at: '2024-05-01T10:20:32Z',
    },
    { event: 'captured', distinct_id: 'd2', timestamp: '2024-05-01T00:00:00Z', properties: { total: 7 } },
  ],
  events: importedEvents('posthog', [
    {
      uuid: '018f3a2b-4c5d-7e6f-8a9b-0c1d2e3f4a5b',
      event: '$autocapture',
      distinct_id: 'd1',
      timestamp: '2024-05-01T10:20:30.123456Z',
      properties: {
        $current_url: 'https://shop.example/cart',
        person_id: '018f3a2b-0000-7000-8000-000000000001',
        $elements_chain: 'button:text="Buy"nth-child="1"',
        $set: {
          plan: 'pro',
        },
      },
    },
    {
      uuid: '4645c8fe-870f-56a1-afea-7aa84e8b4a82',
      event: '$merge_dangerously',
      distinct_id: 'd1',
      timestamp: '2024-04-01T00:00:00.000Z',
      properties: { alias: '018f3a2b-0000-7000-8000-000000000001' },
    },
    {
      uuid: 'cb1a8dcc-16c5-5b8a-948f-90bd5798e26f',
      event: '$set',
      distinct_id: 'd1',
      timestamp: '2024-05-01T10:20:32.000Z',
      properties: {
        $set: {
          plan: 'pro',
        },
      },
    },
    {
      uuid: '650f21e6-fa56-5d56-9eb6-72394e6cef7c',
      event: 'captured',
      distinct_id: 'd2',
      timestamp: '2024-05-01T00:00:00.000Z',
      properties: { total: 7 },
    },
  ]),
};
