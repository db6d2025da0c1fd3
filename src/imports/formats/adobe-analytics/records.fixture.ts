import { createDraw } from '../../../../test/support/draw.ts';

const startS = Date.UTC(2024, 0, 1) / 1000;

/** Columns in the order in which a feed has them: evars, props and what was sent beside what was processed. */
export const adobeColumns: readonly string[] = [
  ...'accept_language browser date_time duplicate_purchase evar1 evar2 exclude_hit geo_city geo_country'.split(' '),
  ...'hit_source hit_time_gmt hitid_high hitid_low ip os page_event page_event_var2 page_url pagename'.split(' '),
  ...'post_browser_height post_browser_width post_cust_hit_time_gmt post_evar1 post_evar2 post_event_list'.split(' '),
  ...'post_keywords post_page_event post_page_event_var2 post_page_url post_pagename post_product_list'.split(' '),
  ...'post_prop1 post_prop2 post_visid_high post_visid_low ref_domain user_agent visid_high visid_low'.split(' '),
  ...'visit_num visit_page_num mcvisid'.split(' '),
];

/** Rows of a data feed with their names; the same for the same seed. */
export function* adobeRecords(seed: number, count: number): Generator<Record<string, unknown>> {
  const draw = createDraw(seed);
  const digits = (length: number): string => Array.from({ length }, () => 1 + draw.int(9)).join('');
  const visitors = Array.from({ length: 1 + Math.floor(count / 8) }, () => [digits(19), digits(19)] as const);
  for (let index = 0; index < count; index += 1) {
    const [high, low] = draw.pick(visitors);
    const time = String(startS + index * 7);
    const pageEvent = draw.pick(['0', '0', '0', '100', '101', '102']);
    const page = `https://shop.example/p/${draw.int(90)}`;
    const known: Record<string, string> = {
      accept_language: 'en-GB',
      browser: '1281560302',
      date_time: new Date(Number(time) * 1000).toISOString().slice(0, 19).replace('T', ' '),
      duplicate_purchase: draw.pick(['0', '1']),
      evar1: 'sent',
      exclude_hit: '0',
      geo_city: 'berlin',
      geo_country: 'deu',
      hit_source: '1',
      hit_time_gmt: time,
      hitid_high: digits(19),
      hitid_low: digits(19),
      ip: '192.0.2.7',
      os: '45',
      page_event: pageEvent,
      page_url: `${page}?a=1`,
      pagename: 'product',
      post_browser_height: '687',
      post_browser_width: '1347',
      post_cust_hit_time_gmt: time,
      post_evar1: draw.pick(['guest', 'member', '']),
      post_event_list: draw.pick(['100,101', '1,200', '2', '12,201=3']),
      post_keywords: '::empty::',
      post_page_event: pageEvent,
      post_page_event_var2: pageEvent === '0' ? '' : draw.pick(['nav', 'footer']),
      post_page_url: page,
      post_pagename: 'product',
      post_product_list: draw.pick([';;;;', 'Shoes;Boot;1;39.90;;']),
      post_prop1: draw.pick(['a', '']),
      post_prop2: String(draw.int(99)),
      post_visid_high: high,
      post_visid_low: low,
      user_agent: 'Mozilla/5.0',
      visid_high: high,
      visid_low: low,
      visit_num: String(1 + draw.int(9)),
      visit_page_num: String(1 + draw.int(30)),
    };
    yield Object.fromEntries(adobeColumns.map((column) => [column, known[column] ?? '']));
  }
}

/** The same as a line of a feed's file. */
export function feedLine(record: Readonly<Record<string, unknown>>): string {
  const escaped = (value: unknown): string => String(value).replaceAll(/[\t\n\\]/g, (each) => `\\${each}`);
  return adobeColumns.map((column) => escaped(record[column])).join('\t');
}
