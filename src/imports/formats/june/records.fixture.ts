import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2023, 0, 1);

/** Rows of the CSV export: texts only, empty cells where there is nothing; the same for the same seed. */
export function* juneRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    yield { ...row(draw, user), ...who(draw, user), timestamp: written(draw, startMs + index * 7001) };
  }
}

function written(draw: Draw, ms: number): string {
  const iso = new Date(ms).toISOString();
  return draw.chance(0.5) ? iso : `${iso.slice(0, 10)} ${iso.slice(11, 23)}${100 + draw.int(900)} UTC`;
}

function who(draw: Draw, user: number): Record<string, unknown> {
  const isKnown = draw.chance(0.6);
  return { user_id: isKnown ? `user-${user}` : '', anonymous_id: !isKnown || draw.chance(0.5) ? `anon-${user}` : '' };
}

function row(draw: Draw, user: number): Record<string, unknown> {
  const kind = draw.int(100);
  const plan = draw.pick(['free', 'pro']);
  const empty = { name: '', properties: '', traits: '', context: '', group_id: '' };
  if (kind < 5) return { ...empty, type: 'identify', traits: JSON.stringify({ email: `u${user}@example.com`, plan }) };
  if (kind < 8) {
    return { ...empty, type: 'group', group_id: `company-${user % 20}`, traits: JSON.stringify({ plan, seats: 7 }) };
  }
  const context = {
    page: { url: `https://shop.example/p/${draw.int(90)}?a=1`, title: 'Shop', referrer: '' },
    library: { name: '@june-so/analytics-next', version: '1.36.5' },
    userAgent: 'Mozilla/5.0',
    locale: 'en-GB',
  };
  return {
    ...empty,
    type: kind < 40 ? 'page' : 'track',
    name: kind < 40 ? draw.pick(['Home', 'Pricing', '']) : draw.pick(['Order Done', 'Signed Up', 'Report created']),
    properties: JSON.stringify({ price: draw.int(10_000) / 100, tags: ['a', 'b'] }),
    context: JSON.stringify(context),
    group_id: draw.chance(0.2) ? `company-${user % 20}` : '',
  };
}
