import { createDraw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2024, 0, 1);

/**
 * Lines of batch exports of events (as JSON lines, or rows of Parquet), of persons, and captured events; the same for the
 * same seed.
 */
export function* posthogRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    const ms = startMs + index * 7001;
    const event = draw.pick(['$pageview', '$autocapture', 'Order Done', '$identify']);
    const properties = {
      $current_url: `https://shop.example/p/${draw.int(90)}`,
      $lib: 'web',
      total: draw.int(1000) / 4,
    };
    const person_properties = { plan: draw.pick(['free', 'pro']), $initial_referrer: '$direct' };
    const ids = { distinct_id: `user-${user}`, person_id: personId(user) };
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
        ...(draw.chance(0.5) ? { uuid: draw.uuid() } : {}),
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

function personId(user: number): string {
  return `018f3a2b-0000-7000-8000-${String(user).padStart(12, '0')}`;
}
