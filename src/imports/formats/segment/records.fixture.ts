import { createDraw, drawVisitors, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2023, 0, 1);

/** Messages of the raw archive; the same for the same seed. */
export function* segmentRecords(seed: number, count: number, recordsPerVisit = 1): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const ms = startMs + index * 7001 + draw.int(1000);
    const isKnown = draw.chance(0.5);
    yield {
      ...body(draw, user),
      anonymousId: `anon-${user}`,
      userId: isKnown ? `user-${user}` : null,
      messageId: `ajs-${draw.uuid()}`,
      timestamp: new Date(ms).toISOString(),
      originalTimestamp: new Date(ms - 20).toISOString(),
      sentAt: new Date(ms + 50).toISOString(),
      receivedAt: new Date(ms + 90).toISOString(),
      version: 2,
      integrations: {},
    };
  }
}

function body(draw: Draw, user: number): Record<string, unknown> {
  const kind = draw.int(100);
  const traits = { email: `u${user}@example.com`, plan: draw.pick(['free', 'pro']) };
  const context = {
    library: { name: 'analytics.js', version: '4.1.0' },
    page: { url: `https://shop.example/p/${draw.int(90)}?a=1`, path: '/p', title: 'Shop', referrer: '' },
    ip: '192.0.2.7',
    locale: 'en-GB',
    campaign: draw.chance(0.2) ? { source: 'mail', medium: 'email' } : {},
  };
  if (kind < 5) return { type: 'identify', traits, context };
  if (kind < 7) return { type: 'group', groupId: `company-${user % 20}`, traits: { seats: 7 }, context };
  if (kind < 9) return { type: 'alias', previousId: `old-${user}`, context };
  if (kind < 40) return { type: 'page', name: draw.pick(['Home', 'Pricing']), properties: {}, context };
  if (kind < 45) return { type: 'screen', name: 'Start', properties: {}, context };
  const properties = { price: draw.int(10_000) / 100, tags: ['a', 'b'] };
  return { type: 'track', event: draw.pick(['Order Done', 'Signed Up', 'Item Viewed']), properties, context };
}
