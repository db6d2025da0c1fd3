import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startS = Date.UTC(2023, 0, 1) / 1000;
/** The site is in Berlin, in winter: timestamps of actions carry its clock, those of visits are UTC. */
const aheadS = 3600;

/** Visits with one to six actions, numbers now and then as text; the same for the same seed. */
export function* matomoRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const at = startS + index * 61;
    const user = draw.int(1 + Math.floor(count / 4));
    const details = Array.from({ length: 1 + draw.int(6) }, (_, place) =>
      action(draw, at + aheadS + place * 7, index * 10 + place),
    );
    yield {
      idSite: draw.chance(0.5) ? '1' : 1,
      idVisit: draw.chance(0.5) ? String(index + 1) : index + 1,
      visitIp: '192.0.2.0',
      visitorId: `4e4eb04b${String(user).padStart(8, '0')}`,
      fingerprint: draw.hex(16),
      userId: draw.chance(0.3) ? `user-${user}` : null,
      visitorType: draw.pick(['new', 'returning']),
      visitorTypeIcon: null,
      visitCount: String(1 + draw.int(20)),
      serverDate: '2023-01-01',
      serverTimestamp: at + (details.length - 1) * 7,
      firstActionTimestamp: at,
      lastActionTimestamp: at + (details.length - 1) * 7,
      ...(draw.chance(0.02) && { truncatedActionsCount: 3 }),
      referrerType: 'direct',
      referrerUrl: '',
      deviceType: draw.pick(['Desktop', 'Smartphone']),
      deviceTypeIcon: 'plugins/Morpheus/icons/dist/devices/desktop.png',
      operatingSystemName: 'Windows',
      operatingSystemVersion: '10',
      browserName: draw.pick(['Firefox', 'Chrome']),
      browserVersion: '120.0',
      country: 'Germany',
      countryCode: 'de',
      city: draw.pick(['Berlin', null]),
      latitude: '52.5',
      longitude: '13.4',
      resolution: draw.pick(['1920x1080', 'unknown']),
      customVariables: draw.chance(0.2)
        ? { 1: { customVariableName1: 'plan', customVariableValue1: draw.pick(['free', 'pro']) } }
        : [],
      actionDetails: details,
    };
  }
}

function action(draw: Draw, timestamp: number, id: number): Record<string, unknown> {
  const page = { url: `https://shop.example/p/${draw.int(90)}?a=1`, pageTitle: 'Shop', pageIdAction: '17' };
  const shared = { timestamp: draw.chance(0.5) ? timestamp : String(timestamp), icon: null, title: 'Shop' };
  const kind = draw.int(100);
  if (kind < 60) return { type: 'action', ...page, pageId: String(id), timeSpent: String(draw.int(90)), ...shared };
  if (kind < 80) {
    const event = { eventCategory: 'shop', eventAction: draw.pick(['play', 'Order Done']), eventValue: '2.5' };
    return { type: 'event', ...event, ...page, pageId: String(id), ...shared };
  }
  if (kind < 85) return { type: 'goal', goalName: 'Order', goalId: '1', revenue: 0, goalPageId: String(id), ...shared };
  if (kind < 90) return { type: 'search', siteSearchKeyword: 'red shoes', pageId: String(id), ...shared };
  if (kind < 95) return { type: draw.pick(['outlink', 'download']), ...page, pageId: String(id), ...shared };
  if (kind < 98) return { type: 'ecommerceOrder', orderId: `o-${id}`, revenue: '12.5', itemDetails: [], ...shared };
  return { type: draw.pick(['ecommerceAbandonedCart', 13]), revenue: '5', ...shared };
}
