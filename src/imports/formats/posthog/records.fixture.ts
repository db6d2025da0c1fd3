import { createDraw, drawVisitors, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2024, 0, 1);

/**
 * Lines of batch exports of events (as JSON lines, or rows of Parquet), of persons, and captured events; the same for the
 * same seed.
 */
export function* posthogRecords(seed: number, count: number, recordsPerVisit = 1): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const ms = startMs + index * 7001;
    const event = draw.chance(0.03) ? '$identify' : draw.pick(['$pageview', '$autocapture', 'Order Done']);
    const ids = { distinct_id: `user-${user}`, person_id: personId(user) };
    // PostHog refuses an $identify without a person.
    const isKnown = draw.chance(0.6) || event === '$identify';
    const properties = propertiesOf(draw, ids.distinct_id, isKnown);
    const person_properties = isKnown
      ? { plan: draw.pick(['free', 'pro']), $browser: 'Firefox', $initial_referrer: '$direct' }
      : {};
    const kind = draw.int(100);
    if (kind < 3) {
      const created_at = new Date(startMs + user).toISOString();
      const _inserted_at = new Date(ms).toISOString();
      yield {
        team_id: 1,
        ...ids,
        properties: person_properties,
        person_version: 1,
        created_at,
        _inserted_at,
        is_deleted: false,
      };
    } else if (kind < 30) {
      const timestamp = new Date(ms).toISOString();
      yield {
        event,
        distinct_id: ids.distinct_id,
        properties,
        timestamp,
        ...(draw.chance(0.7) ? { uuid: draw.uuid() } : {}),
      };
    } else if (kind < 60) {
      const timestamp = `${new Date(ms).toISOString().slice(0, 23)}${100 + draw.int(900)}+00:00`;
      const chain = event === '$autocapture' ? 'a:text="Buy"nth-child="1"' : null;
      yield {
        uuid: draw.uuid(),
        event,
        ...ids,
        properties,
        person_properties,
        elements_chain: chain,
        timestamp,
        created_at: timestamp,
      };
    } else {
      const timestamp = ms * 1000 + draw.int(1000);
      const texts = { properties: JSON.stringify(properties), person_properties: JSON.stringify(person_properties) };
      yield { uuid: draw.uuid(), event, ...ids, ...texts, elements_chain: '', timestamp, created_at: timestamp };
    }
  }
}

/** As the service stores them: with their person properties, or with the mark for no person. */
function propertiesOf(draw: Draw, id: string, isKnown: boolean): Record<string, unknown> {
  return {
    $browser: draw.pick(['Chrome', 'Safari']),
    $current_url: `https://shop.example/p/${draw.int(90)}`,
    $lib: 'web',
    $pathname: null,
    total: draw.int(1000) / 4,
    tags: ['a', { b: 'ä' }],
    $device_id: id,
    timestamp: 'a property',
    token: 'phc_shop',
    ...(draw.chance(0.3) ? { $groups: { company: `company-${draw.int(9)}` } } : {}),
    ...(isKnown
      ? { $set: { $browser: 'Chrome', seats: draw.int(9) }, $set_once: { $initial_browser: 'Chrome' } }
      : { $process_person_profile: false }),
    $geoip_city_name: 'Berlin',
    ...(draw.chance(0.2) ? { $geoip_disable: true } : {}),
  };
}

function personId(user: number): string {
  return `018f3a2b-0000-7000-8000-${String(user).padStart(12, '0')}`;
}
