import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2023, 0, 1);

/** Batches of one to four events, now and then one that only says who the user is; the same for the same seed. */
export function* mparticleRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    const ms = startMs + index * 7001;
    const events = Array.from({ length: draw.chance(0.97) ? 1 + draw.int(4) : 0 }, (_, at) => event(draw, ms + at * 9));
    yield {
      ...(draw.chance(0.9) ? { batch_id: `${7_000_000_000 + index}` } : {}),
      ...who(draw, user),
      timestamp_unixtime_ms: String(ms + 900),
      ip: '192.0.2.7',
      schema_version: 2,
      device_info: { platform: 'iOS', os_version: '17.1', device_model: 'iPhone14,5', screen_width: 1170 },
      application_info: { application_name: 'Shop', application_version: '4.2.0', package: 'com.example.shop' },
      events,
    };
  }
}

function who(draw: Draw, user: number): Record<string, unknown> {
  const identities = [{ identity_type: 'email', identity: `u${user}@example.com` }];
  if (draw.chance(0.5)) identities.push({ identity_type: 'customer_id', identity: `user-${user}` });
  return {
    mpid: `60046777${String(user).padStart(11, '0')}`,
    user_identities: identities,
    user_attributes: { plan: draw.pick(['free', 'pro']), tags: ['a', 'b'] },
  };
}

function event(draw: Draw, ms: number): Record<string, unknown> {
  const event_type = draw.pick(['custom_event', 'custom_event', 'screen_view', 'session_start', 'commerce_event']);
  const id = draw.int(3);
  return {
    event_type,
    data: {
      timestamp_unixtime_ms: draw.chance(0.8) ? String(ms) : ms,
      session_uuid: draw.uuid(),
      ...(id === 0 ? { source_message_id: draw.uuid() } : {}),
      ...(id === 1 ? { event_id: `-${draw.int(1e9)}${ms}` } : {}),
      ...(event_type === 'custom_event' ? { event_name: draw.pick(['Order Done', 'Signed Up']) } : {}),
      ...(event_type === 'screen_view' ? { screen_name: 'Start' } : {}),
      location: { latitude: 52.5, longitude: 13.4, accuracy: 5 },
      custom_attributes: { price: String(draw.int(10_000) / 100), nonce: draw.hex(12) },
    },
  };
}
