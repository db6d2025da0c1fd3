import { snowplowColumns } from './snowplow.ts';
import { createDraw, type Draw } from '../../../../test/support/draw.ts';

const startMs = Date.UTC(2023, 0, 1);

/**
 * Good events of the enriched archive: `tsv` as lines of 131 columns, `csv` as rows of the warehouse with a text in
 * every column; the same for the same seed.
 */
export function* snowplowRecords(seed: number, count: number, form: 'tsv' | 'csv' = 'tsv'): Generator<unknown> {
  const draw = createDraw(seed);
  for (let index = 0; index < count; index += 1) {
    const user = draw.int(1 + Math.floor(count / 8));
    const cells = cellsOf(draw, user, startMs + index * 7001, form);
    if (form === 'tsv') yield snowplowColumns.map((column) => cells[column] ?? '').join('\t');
    else yield { ...Object.fromEntries(plainColumns.map((column) => [column, ''])), ...cells };
  }
}

const plainColumns = snowplowColumns.filter((column) => !/^(unstruct_event|contexts|derived_contexts)$/.test(column));

function written(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
}

function cellsOf(draw: Draw, user: number, ms: number, form: 'tsv' | 'csv'): Record<string, string> {
  const page = { page_urlscheme: 'https', page_urlhost: 'shop.example', page_urlpath: `/p/${draw.int(90)}` };
  return {
    app_id: 'shop',
    platform: 'web',
    etl_tstamp: written(ms + 5000),
    collector_tstamp: written(ms + 400),
    dvce_created_tstamp: written(ms),
    dvce_sent_tstamp: written(ms + 100),
    derived_tstamp: draw.chance(0.97) ? written(ms + 300) : '',
    event_id: draw.uuid(),
    v_tracker: 'js-3.24.0',
    v_collector: 'ssc-2.9.0',
    v_etl: 'snowplow-enrich-kinesis-3.9.0',
    user_id: draw.chance(0.4) ? `user-${user}` : '',
    user_ipaddress: '192.0.2.7',
    domain_userid: `device-${user}`,
    domain_sessionidx: String(1 + draw.int(9)),
    domain_sessionid: draw.uuid(),
    network_userid: draw.uuid(),
    geo_country: draw.pick(['DE', 'FR']),
    geo_city: 'Berlin',
    page_url: `https://shop.example${page.page_urlpath}?a=1`,
    ...page,
    page_title: 'Shop',
    br_name: 'Firefox',
    br_family: 'Firefox',
    br_viewwidth: '1280',
    br_cookies: '1',
    os_family: draw.pick(['Windows', 'Mac OS X']),
    dvce_type: 'Computer',
    dvce_ismobile: '0',
    ...(form === 'tsv' ? { contexts: webPage(draw) } : {}),
    ...kindOf(draw, form),
  };
}

function webPage(draw: Draw): string {
  const schema = 'iglu:com.snowplowanalytics.snowplow/web_page/jsonschema/1-0-0';
  return JSON.stringify({
    schema: 'iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0',
    data: [{ schema, data: { id: draw.uuid() } }],
  });
}

function kindOf(draw: Draw, form: 'tsv' | 'csv'): Record<string, string> {
  const kind = draw.int(100);
  const vendor = { event_vendor: 'com.snowplowanalytics.snowplow', event_format: 'jsonschema', event_version: '1-0-0' };
  if (kind < 40) return { ...vendor, event: 'page_view', event_name: 'page_view' };
  if (kind < 55) return { ...vendor, event: 'page_ping', event_name: 'page_ping', pp_yoffset_max: '300' };
  if (kind < 75) {
    const action = { se_category: 'shop', se_action: draw.pick(['add-to-basket', 'search']), se_value: '2.5' };
    return { ...vendor, event: 'struct', event_name: 'event', ...action };
  }
  const data = { total: draw.int(10_000) / 100, sku: [`s-${draw.int(50)}`] };
  const own = { event: 'unstruct', event_vendor: 'com.acme', event_name: 'order_done', event_version: '1-0-2' };
  if (form === 'csv') return { ...own, unstruct_event_com_acme_order_done_1: JSON.stringify(data) };
  return {
    ...own,
    unstruct_event: JSON.stringify({
      schema: 'iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0',
      data: { schema: 'iglu:com.acme/order_done/jsonschema/1-0-2', data },
    }),
  };
}
