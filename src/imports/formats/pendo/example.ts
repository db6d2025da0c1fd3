import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const pendoExample: Format['example'] = {
  records: [
    {
      visitorId: 'u-1',
      accountId: 'acme',
      oldVisitorId: '_PENDO_T_8a7f',
      browserTimestamp: 1714558830123,
      eventType: 'load',
      eventId: 'e-1',
      url: 'https://app.example/home?tab=1',
      browser: 'Chrome',
      country: 'DE',
      remoteIp: '192.0.2.7',
      latitude: '52.5',
      propertiesJson: '{"plan":"pro"}',
    },
  ],
  events: importedEvents('pendo', [
    {
      uuid: fastId('pendo', 'identify', '_PENDO_T_8a7f', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: { $anon_distinct_id: '_PENDO_T_8a7f', $import_identity: 'joined' },
    },
    {
      uuid: fastId('pendo', 'event', 'e-1', 'u-1', '2024-05-01T10:20:30.123Z', 'load', ''),
      event: '$pageview',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: {
        eventId: 'e-1',
        $current_url: 'https://app.example/home?tab=1',
        $browser: 'Chrome',
        $ip: '192.0.2.7',
        $geoip_latitude: 52.5,
        plan: 'pro',
        $groups: { account: 'acme' },
        $geoip_country_code: 'DE',
        $host: 'app.example',
        $pathname: '/home',
      },
    },
  ]),
};
