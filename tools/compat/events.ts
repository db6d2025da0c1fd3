import { randomUUID } from 'node:crypto';

export interface SampleEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const agent =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36';
const page = {
  $lib: 'web',
  $host: 'shop.example.com',
  $useragent: agent,
  $raw_user_agent: agent,
  $ip: '89.160.20.112',
  $browser: 'Chrome',
  $os: 'Mac OS X',
  $device_id: 'device-1',
  $device_type: 'Desktop',
};

const samples: readonly (readonly [event: string, distinctId: string, properties: Record<string, unknown>])[] = [
  [
    '$pageview',
    'ann@example.com',
    {
      ...page,
      $current_url: 'https://Shop.example.com/en/Products/42/?utm_source=news&utm_campaign=May&plan=pro&plan=team#top',
      $pathname: '/en/Products/42/',
      $referrer: 'https://www.google.com/search?q=shoes',
      $referring_domain: 'www.google.com',
    },
  ],
  [
    '$pageview',
    'u2',
    { ...page, $current_url: 'https://shop.example.com/', $pathname: '/', $ip: '1.2.3.4', $referrer: '$direct' },
  ],
  [
    '$identify',
    'ann@example.com',
    {
      ...page,
      $anon_distinct_id: 'anon-1',
      $set: { email: 'ann@example.com', name: 'Ann Ace', plan: 'pro', company: { name: 'Ace', size: 12 } },
      $set_once: { first_seen: '2024-05-01' },
      email: 'ann@example.com',
    },
  ],
  [
    'Purchase Completed',
    'ann@example.com',
    {
      amount: 12.5,
      currency: 'EUR',
      email: 'ann@example.com',
      order: { id: 7, items: [{ sku: 'a', price: 5 }, { sku: 'b' }], address: { city: 'Oslo', geo: { lat: 59.9 } } },
      $set: { last_order: 7 },
    },
  ],
  ['Order Shipped', 'ann@example.com', { amount: '3', currency: 'USD', carrier: 'post', $time: 1_714_557_600 }],
  ['app_opened', 'u3', { app_version: '1.2.3-beta.4+build.5', other_version: 'not a version', $lib: 'posthog-ios' }],
  [
    '$autocapture',
    'u2',
    { ...page, $event_type: 'click', $elements: [{ tag_name: 'a', text: 'Buy', attributes: { attr__id: 'buy' } }] },
  ],
  [
    'unusual types',
    'u4',
    {
      odd_null: null,
      odd_list: [1, 'two', null, { three: [] }],
      odd_number: 1e21,
      odd_text: 'ü 🐙 \u2028 \u0001',
      odd_flag: false,
      odd_empty: {},
      '': 'no name',
      $set: { unusual: [null] },
    },
  ],
  ['$groupidentify', 'u2', { $group_type: 'company', $group_key: 'ace', $group_set: { name: 'Ace', seats: 3 } }],
  ['testEvent', 'u5', { foo: 'text', bar: 3, baz: true, extra: 'not in the schema' }],
  ['$create_alias', 'u6', { alias: 'anon-6', distinct_id: 'u6' }],
  ['bare', 'u7', {}],
];

/** Returns about one event of each kind, new ones for each call, one second apart and in the past. */
export function sampleEvents(now = Date.now()): SampleEvent[] {
  return samples.map(([event, distinct_id, properties], index) => {
    const timestamp = new Date(now - (samples.length - index) * 1000).toISOString();
    return { uuid: randomUUID(), event, distinct_id, timestamp, properties };
  });
}
