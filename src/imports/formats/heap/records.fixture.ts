import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2022, 0, 1);

/** Rows of events (CSV: texts), lines of the JSON export, users and migrations of users; the same for the same seed. */
export function* heapRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    const ms = startMs + index * 7001;
    const kind = draw.int(100);
    if (kind < 4) yield userRow(draw, user, ms);
    else if (kind < 6) yield { from_user_id: heapId(user), to_user_id: heapId(user + 1), time: written(draw, ms) };
    else if (kind < 30) yield exported(draw, user, ms);
    else yield eventRow(draw, user, ms);
  }
}

function heapId(user: number): string {
  return `48100607${String(user).padStart(8, '0')}`;
}

function written(draw: Draw, ms: number): string | number {
  const kind = draw.int(3);
  const text = new Date(ms).toISOString().slice(0, 23).replace('T', ' ');
  return kind === 0 ? ms : kind === 1 ? `${text}${100 + draw.int(900)} UTC` : text;
}

function eventRow(draw: Draw, user: number, ms: number): Record<string, unknown> {
  return {
    event_id: `${ms}${draw.int(1e6)}`,
    event_table_name: draw.pick(['pageviews', 'order_done', 'signed_up']),
    user_id: heapId(user),
    session_id: String(33_000_000 + user),
    time: written(draw, ms),
    session_time: written(draw, ms - 1000),
    browser: 'Chrome',
    browser_version: '120',
    device_type: draw.pick(['Desktop', 'Mobile']),
    platform: draw.pick(['Mac OS X 10.15.7', 'Windows 10', 'Linux', '']),
    library: 'web',
    ip: '192.0.2.7',
    city: 'Berlin',
    region: '',
    country: 'Germany',
    domain: 'shop.example',
    path: `/p/${draw.int(90)}`,
    query: draw.pick(['', '?a=1']),
    hash: '',
    title: 'Shop',
    landing_page: 'https://shop.example/',
    referrer: '',
    utm_source: draw.pick(['', 'mail']),
    price: String(draw.int(10_000) / 100),
  };
}

function exported(draw: Draw, user: number, ms: number): Record<string, unknown> {
  return {
    id: `(2008543124,${heapId(user)})`,
    ...(draw.chance(0.5) ? { type: draw.pick(['pageview', 'click']) } : { object: 'event' }),
    time: ms,
    ...(draw.chance(0.2) ? { identity: `user-${user}` } : {}),
    properties: { price: draw.int(10_000) / 100, tags: ['a', 'b'] },
  };
}

function userRow(draw: Draw, user: number, ms: number): Record<string, unknown> {
  return {
    user_id: heapId(user),
    identity: draw.chance(0.6) ? `user-${user}` : '',
    email: `u${user}@example.com`,
    joindate: written(draw, startMs),
    last_modified: written(draw, ms),
    initial_referrer: 'direct',
    initial_platform: 'Windows 10',
    plan: draw.pick(['free', 'pro']),
  };
}
