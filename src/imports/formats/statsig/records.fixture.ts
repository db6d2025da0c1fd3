import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2024, 0, 1);

/** Events of the console API, now and then a page of them; the same for the same seed. */
export function* statsigRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const users = 1 + Math.floor(count / 8);
    const ms = startMs + index * 7001;
    if (!draw.chance(0.03)) yield event(draw, draw.int(users), ms);
    else yield { data: Array.from({ length: draw.int(4) }, (_, at) => event(draw, draw.int(users), ms + at)) };
  }
}

const kinds = ['page_view', 'page_view_end', 'click', 'session_start'].map((kind) => `auto_capture::${kind}`);

function event(draw: Draw, user: number, ms: number): Record<string, unknown> {
  const name = draw.pick([...kinds, 'Order Done', 'Signed Up']);
  const isKnown = draw.chance(0.5);
  const url = `https://shop.example/p/${draw.int(90)}?a=1`;
  return {
    ...(draw.chance(0.8) ? { id: draw.chance(0.5) ? draw.uuid() : `e-${draw.hex(16)}` } : {}),
    ...(draw.chance(0.5) ? { name } : { event_name: name }),
    timestamp: draw.chance(0.5) ? ms : String(ms),
    ...(isKnown ? { userID: `user-${user}` } : {}),
    ...(!isKnown || draw.chance(0.5) ? { deviceID: `device-${user}` } : {}),
    value: name.startsWith('auto_capture::page') ? url : draw.int(100),
    metadata: { price: draw.int(10_000) / 100, tags: ['a', 'b'] },
    device_metadata: JSON.stringify({ os: draw.pick(['Windows', 'Mac OS X']), country: 'DE' }),
    trimmed_data: draw.chance(0.5) ? JSON.stringify({ title: 'Shop' }) : null,
    page_url: url,
    sessionID: draw.uuid(),
    browser_name: draw.pick(['Chrome', 'Safari']),
  };
}
