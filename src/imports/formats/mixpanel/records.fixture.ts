import { createDraw, drawVisitors, type Draw } from '../../../../test/support/draw.ts';

const startS = 1_609_459_200;

/**
 * Lines of the Raw Event Export, now and then a profile of the Engage API; the same for the same seed. So many in a row are of
 * one visit of one person.
 */
export function* mixpanelRecords(seed: number, count: number, recordsPerVisit = 1): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const kind = draw.int(100);
    if (kind < 3) yield profile(draw, user, index);
    else if (kind < 6) yield verb(draw, user, index);
    else yield event(draw, user, index);
  }
}

function event(draw: Draw, user: number, index: number): Record<string, unknown> {
  const known = draw.chance(0.5);
  return {
    event: draw.pick(['$mp_web_page_view', 'Signed Up', 'Order Done', 'Item Viewed']),
    properties: {
      time: draw.chance(0.8) ? startS + index * 7 : (startS + index * 7) * 1000 + draw.int(1000),
      distinct_id: known ? `user-${user}` : `$device:device-${user}`,
      ...(known ? { $user_id: `user-${user}` } : {}),
      $device_id: `device-${draw.chance(0.1) ? 0 : user}`,
      ...(draw.chance(0.03) ? { $identity_failure_reason: 'already identified' } : {}),
      ...(draw.chance(0.95) ? { $insert_id: `${draw.hex(16)}${index.toString(36)}` } : {}),
      ...(draw.chance(0.1) ? { $distinct_id_before_identity: `anon-${user}` } : {}),
      $browser: draw.pick(['Chrome', 'Safari', 'Firefox']),
      $browser_version: 80 + draw.int(40),
      $city: draw.pick(['Berlin', 'Paris', null]),
      $current_url: `https://shop.example/p/${draw.int(90)}?a=1`,
      $initial_referrer: '$direct',
      $initial_referring_domain: '$direct',
      $lib_version: '2.47.0',
      $mp_api_endpoint: 'api-js.mixpanel.com',
      $mp_api_timestamp_ms: (startS + index * 7) * 1000 + 400,
      $os: draw.pick(['Windows', 'Mac OS X', 'Android']),
      $region: 'Land Berlin',
      $screen_height: 1080,
      $screen_width: 1920,
      mp_country_code: draw.pick(['DE', 'FR', 'US']),
      mp_lib: 'web',
      mp_processing_time_ms: (startS + index * 7) * 1000 + 900,
      price: draw.int(10_000) / 100,
      tags: ['a', 'b'],
    },
  };
}

function verb(draw: Draw, user: number, index: number): Record<string, unknown> {
  const shared = { time: startS + index * 7, $insert_id: `verb-${draw.hex(8)}-${index}` };
  const ids = [`user-${user}`, `device-${user}`];
  return draw.pick([
    { event: '$identify', properties: { ...shared, distinct_id: ids[0], $identified_id: ids[0], $anon_id: ids[1] } },
    { event: '$create_alias', properties: { ...shared, distinct_id: ids[0], alias: `old-${user}` } },
    { event: '$merge', properties: { ...shared, distinct_id: ids[0], $distinct_ids: ids } },
  ]);
}

function profile(draw: Draw, user: number, index: number): Record<string, unknown> {
  const $last_seen = new Date((startS + index * 7) * 1000).toISOString().slice(0, 19);
  const $properties = { $last_seen, $email: `u${user}@example.com`, plan: draw.pick(['free', 'pro']) };
  return { $distinct_id: `user-${user}`, $properties };
}
