import { createDraw, drawVisitors, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2021, 0, 1);

/** Lines of the Export API with all their columns, null where there is nothing; the same for the same seed. */
export function* amplitudeRecords(
  seed: number,
  count: number,
  recordsPerVisit = 1,
): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const ms = startMs + index * 7001;
    yield { ...columns(draw, user, ms, index), ...device(draw), ...contents(draw, user) };
  }
}

/** As the export writes times: UTC, microseconds, no zone. */
function written(ms: number, micros: number): string {
  const text = new Date(ms).toISOString().replace('T', ' ').slice(0, 23);
  return `${text}${String(micros).padStart(3, '0')}`;
}

function columns(draw: Draw, user: number, ms: number, index: number): Record<string, unknown> {
  return {
    $insert_id: draw.uuid(),
    $insert_key: null,
    $schema: null,
    amplitude_id: 1_000_000 + user,
    app: 123_456,
    event_id: index,
    uuid: draw.chance(0.97) ? draw.uuid() : null,
    event_type: draw.pick([
      '[Amplitude] Page Viewed',
      'Order Done',
      'session_start',
      '[Amplitude] Element Clicked',
      '$identify',
    ]),
    event_time: draw.chance(0.98) ? written(ms, draw.int(1000)) : null,
    client_event_time: draw.chance(0.9) ? written(ms, 0) : null,
    client_upload_time: written(ms + 900, 0),
    server_received_time: written(ms + 1000, 0),
    server_upload_time: written(ms + 1100, 0),
    processed_time: written(ms + 1200, 0),
    user_creation_time: written(startMs, 0),
    user_id: draw.chance(0.5) ? `user-${user}` : null,
    device_id: `device-${user}`,
    session_id: draw.chance(0.9) ? startMs + user * 1000 : -1,
    ip_address: '192.0.2.7',
    is_attribution_event: false,
    paying: null,
    data_type: 'event',
    sample_rate: null,
    source_id: null,
    partner_id: null,
    plan: {},
    idfa: null,
    adid: null,
  };
}

function device(draw: Draw): Record<string, unknown> {
  const place = { city: 'Berlin', country: 'Germany', region: 'Land Berlin', dma: null, language: 'German' };
  const shared = { ...place, location_lat: null, location_lng: null, device_carrier: null, start_version: null };
  const web = draw.chance(0.6);
  return web
    ? {
        ...shared,
        platform: 'Web',
        library: 'amplitude-ts/2.3.0',
        os_name: draw.pick(['Chrome', 'Safari']),
        os_version: '120',
        device_type: draw.pick(['Windows', 'Mac OS X', 'Apple iPhone']),
        device_family: 'Windows',
        version_name: null,
      }
    : {
        ...shared,
        platform: 'iOS',
        library: 'amplitude-swift/1.1.0',
        os_name: 'ios',
        os_version: '17.1',
        device_type: 'Apple iPhone 12',
        device_family: 'Apple iPhone',
        version_name: '4.2.0',
      };
}

function contents(draw: Draw, user: number): Record<string, unknown> {
  const company = `company-${user % 20}`;
  return {
    event_properties: {
      '[Amplitude] Page Location': `https://shop.example/p/${draw.int(90)}?a=1`,
      '[Amplitude] Page Path': '/p',
      price: draw.int(10_000) / 100,
    },
    user_properties: {
      plan: draw.pick(['free', 'pro']),
      initial_utm_source: 'mail',
      initial_referrer: 'EMPTY',
      ...(draw.chance(0.03) && {
        $set: { plan: 'team' },
        $setOnce: { first: 'x' },
        $add: { n: 1 },
        $unset: { old: '-' },
      }),
    },
    global_user_properties: {},
    groups: draw.chance(0.3) ? { company: [company] } : {},
    group_properties: draw.chance(0.05) ? { company: { [company]: { size: draw.int(3) } } } : {},
    data: { path: '/2/httpapi', group_first_event: {} },
    amplitude_attribution_ids: null,
    amplitude_event_type: null,
  };
}
