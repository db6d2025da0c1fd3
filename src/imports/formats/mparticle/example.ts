import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const mparticleExample: Format['example'] = {
  records: [
    {
      batch_id: '8121880',
      mpid: '6004677780660780000',
      ip: '192.0.2.7',
      user_identities: [
        { identity_type: 'customer_id', identity: 'u-1' },
        { identity_type: 'email', identity: 'a@b.example' },
      ],
      user_attributes: { plan: 'pro' },
      device_info: { platform: 'iOS', os_version: '17.1', device_model: 'iPhone14,5' },
      application_info: { application_name: 'Shop', application_version: '4.2.0' },
      events: [
        {
          event_type: 'custom_event',
          data: {
            event_name: 'Order Done',
            custom_event_type: 'transaction',
            timestamp_unixtime_ms: '1714558830123',
            source_message_id: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
            custom_attributes: { total: '12.50' },
          },
        },
        { event_type: 'session_end', data: { timestamp_unixtime_ms: '1714558831123' } },
      ],
    },
  ],
  events: importedEvents('mparticle', [
    {
      uuid: fastId('mparticle', 'identify', '6004677780660780000', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: { $anon_distinct_id: '6004677780660780000' },
    },
    {
      uuid: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
      event: 'Order Done',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: {
        batch_id: '8121880',
        mpid: '6004677780660780000',
        $ip: '192.0.2.7',
        $os: 'iOS',
        $os_version: '17.1',
        $device_model: 'iPhone14,5',
        $app_name: 'Shop',
        $app_version: '4.2.0',
        custom_event_type: 'transaction',
        total: '12.50',
        $set: { plan: 'pro', email: 'a@b.example' },
      },
    },
  ]),
};
