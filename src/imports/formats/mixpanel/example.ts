import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const mixpanelExample: Format['example'] = {
  options: { groups: 'company' },
  records: [
    {
      event: 'Signed Up',
      properties: {
        time: 1609459200,
        distinct_id: 'u1',
        $user_id: 'u1',
        $device_id: 'd1',
        $insert_id: 'evt-1',
        mp_processing_time_ms: 1609459201000,
        $os: 'Mac OS X',
        mp_country_code: 'DE',
        company: 'acme',
        plan: 'pro',
      },
    },
    { event: '$create_alias', properties: { time: 1609459260, $insert_id: 'evt-2', distinct_id: 'u1', alias: 'old' } },
    { $distinct_id: 'u1', $properties: { $last_seen: '2021-01-02T03:04:05', $email: 'a@b.example', plan: 'pro' } },
  ],
  events: importedEvents('mixpanel', [
    {
      uuid: '2dc6914c-1d76-5524-b3ce-b587dcab35c2',
      event: '$identify',
      distinct_id: 'u1',
      timestamp: '2021-01-01T00:00:00.000Z',
      properties: { $anon_distinct_id: 'd1' },
    },
    {
      uuid: 'b1e8294d-c1b5-55f9-bb71-a01a10983447',
      event: 'Signed Up',
      distinct_id: 'u1',
      timestamp: '2021-01-01T00:00:00.000Z',
      properties: {
        $user_id: 'u1',
        $device_id: 'd1',
        $os: 'Mac OS X',
        $geoip_country_code: 'DE',
        company: 'acme',
        plan: 'pro',
        $geoip_country_name: 'Germany',
        $mixpanel_user_id: 'u1',
        $mixpanel_device_id: 'd1',
        $set: {
          $os: 'Mac OS X',
          $geoip_country_code: 'DE',
          $geoip_country_name: 'Germany',
        },
        $groups: {
          company: 'acme',
        },
      },
    },
    {
      uuid: '95f3593a-d7bf-5467-989a-5ded4b9bbf3b',
      event: '$create_alias',
      distinct_id: 'u1',
      timestamp: '2021-01-01T00:01:00.000Z',
      properties: { alias: 'old' },
    },
    {
      uuid: '24b13b4e-1083-567a-aeec-22ba304135f7',
      event: '$set',
      distinct_id: 'u1',
      timestamp: '2021-01-02T03:04:05.000Z',
      properties: {
        $set: {
          $last_seen: '2021-01-02T03:04:05',
          email: 'a@b.example',
          plan: 'pro',
        },
      },
    },
  ]),
};
