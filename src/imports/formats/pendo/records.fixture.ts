import { createDraw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2024, 0, 1);

/** Rows of the events of Data Sync; the same for the same seed. */
export function* pendoRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    const isKnown = draw.chance(0.6);
    const eventType = draw.pick(['load', 'load', 'click', 'change', 'focus', 'pollResponse']);
    const isClick = eventType !== 'load' && eventType !== 'pollResponse';
    yield {
      visitorId: isKnown ? `user-${user}` : `_PENDO_T_${user}`,
      accountId: isKnown ? `company-${user % 20}` : null,
      oldVisitorId: isKnown && draw.chance(0.2) ? `_PENDO_T_${user}` : null,
      browserTimestamp: draw.chance(0.8) ? startMs + index * 7001 : String(startMs + index * 7001),
      eventType,
      eventId: draw.chance(0.9) ? draw.hex(20) : null,
      eventSource: 'WEB',
      periodId: String(startMs),
      matchableId: draw.pick(['Page/1', 'Feature/7', null]),
      destinationStepId: null,
      version: '2.240.1',
      url: `https://app.example/p/${draw.int(90)}?a=1`,
      userAgent: 'Mozilla/5.0',
      browser: 'Chrome',
      language: 'en-GB',
      country: 'DE',
      region: 'BE',
      latitude: 52.5,
      longitude: 13.4,
      remoteIp: '192.0.2.7',
      elementPath: isClick ? 'BODY > DIV#main > BUTTON.buy' : null,
      pollId: eventType === 'pollResponse' ? 'poll-1' : null,
      pollResponse: eventType === 'pollResponse' ? draw.int(10) : null,
      propertiesJson: draw.chance(0.5) ? JSON.stringify({ price: draw.int(10_000) / 100, tags: ['a'] }) : null,
    };
  }
}
