import { fastId } from '../derived-uuids.ts';
import type { Format } from '../format.ts';
import { importedEvents } from '../imported-events.ts';

export const statsigExample: Format['example'] = {
  records: [
    {
      id: 'e-1',
      name: 'auto_capture::page_view',
      timestamp: 1714558830123,
      userID: 'u-1',
      deviceID: 'd-1',
      value: 'https://app.example/home?tab=1',
      sessionID: 's-1',
      browser_name: 'Chrome',
      metadata: { load_ms: 210 },
      device_metadata: '{"os":"Mac OS X","country":"DE"}',
    },
    { name: 'auto_capture::session_start', timestamp: 1714558830000, userID: 'u-1' },
  ],
  events: importedEvents('statsig', [
    {
      uuid: fastId('statsig', 'identify', 'd-1', 'u-1'),
      event: '$identify',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: { $anon_distinct_id: 'd-1' },
    },
    {
      uuid: fastId('statsig', 'event', 'e-1'),
      event: '$pageview',
      distinct_id: 'u-1',
      timestamp: '2024-05-01T10:20:30.123Z',
      properties: {
        $os: 'Mac OS X',
        $device_id: 'd-1',
        $session_id: 's-1',
        $browser: 'Chrome',
        load_ms: 210,
        $current_url: 'https://app.example/home?tab=1',
        $geoip_country_code: 'DE',
        $host: 'app.example',
        $pathname: '/home',
      },
    },
  ]),
};
