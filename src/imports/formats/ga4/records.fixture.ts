import { createDraw, drawVisitors } from '../../../../test/support/draw.ts';

/**
 * Rows of the BigQuery export, the same for the same seed; `newRows` have the place in the batch that Google added in
 * 2024.
 */
export function* ga4Records(
  seed: number,
  count: number,
  recordsPerVisit = 1,
  newRows = true,
): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const visitor = drawVisitors(draw, 1 + Math.floor(count / 8), recordsPerVisit);
  for (let index = 0; index < count; index += 1) {
    const user = visitor(index);
    const micros = 1_704_067_200_000_000 + index * 1_000_003 + draw.int(999);
    yield {
      event_date: new Date(micros / 1000).toISOString().slice(0, 10).replaceAll('-', ''),
      event_timestamp: draw.chance(0.5) ? String(micros) : micros,
      event_name: draw.pick(['page_view', 'session_start', 'scroll', 'purchase', 'user_engagement', 'first_visit']),
      event_params: [
        { key: 'page_location', value: text(`https://shop.example/p/${draw.int(90)}?a=1`) },
        { key: 'ga_session_id', value: { string_value: null, int_value: String(draw.int(1e9)) } },
        { key: 'value', value: { double_value: draw.int(1000) / 4 } },
      ],
      event_bundle_sequence_id: String(draw.int(1e6)),
      user_id: draw.chance(0.3) ? `user-${user}` : null,
      user_pseudo_id: draw.chance(0.97) ? `${user}.${1_700_000_000 + user}` : null,
      user_first_touch_timestamp: String(1_700_000_000_000_000 + user),
      user_properties: draw.chance(0.4) ? [{ key: 'plan', value: text(draw.pick(['free', 'pro'])) }] : [],
      device: {
        category: draw.pick(['desktop', 'mobile', 'tablet']),
        operating_system: draw.pick(['Windows', 'iOS', '(not set)']),
        web_info: { browser: draw.pick(['Chrome', 'Safari']), browser_version: '124.0', hostname: 'shop.example' },
      },
      geo: { continent: 'Europe', country: draw.pick(['Germany', 'France']), region: '(not set)', city: 'Berlin' },
      stream_id: '44',
      platform: 'WEB',
      items: [],
      ...(newRows
        ? { batch_page_id: String(index), batch_ordering_id: '1', batch_event_index: String(draw.int(9)) }
        : {}),
    };
  }
}

function text(value: string): Record<string, unknown> {
  return { string_value: value, int_value: null, float_value: null, double_value: null };
}
