import { createDraw, type Draw } from '../../../test/support/draw.ts';

const dayMs = 86_400_000;

/** As `/batch/` takes it. */
export interface MadeEvent {
  readonly uuid?: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp?: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

const pages = ['/', '/pricing', '/docs', '/cart', '/blog/shipping-faster', '/account/settings'];
const names = ['$pageview', '$pageview', '$pageview', 'product viewed', 'cart opened', 'order placed', 'signed in'];

interface ShopOptions {
  readonly events: number;
  readonly people: number;
  readonly eventsPerBatch: number;
  /** ms since the epoch. */
  readonly now: number;
}

/** A year of a shop, oldest first; the same at each run, but for the time. Every tenth event says something of its person. */
export function* shopBatches({ events, people, eventsPerBatch, now }: ShopOptions): Generator<MadeEvent[], undefined> {
  const draw = createDraw(20_261_122);
  const companies = Math.max(1, Math.floor(people / 20));
  for (let from = 0; from < events; from += eventsPerBatch) {
    yield Array.from({ length: Math.min(eventsPerBatch, events - from) }, (_, offset) => {
      const index = from + offset;
      const at = now - 365 * dayMs + Math.floor((365 * dayMs * index) / events);
      return shopEvent(draw, { index, people, companies, timestamp: new Date(at).toISOString() });
    });
  }
  return undefined;
}

interface Moment {
  readonly index: number;
  readonly people: number;
  readonly companies: number;
  readonly timestamp: string;
}

function shopEvent(draw: Draw, { index, people, companies, timestamp }: Moment): MadeEvent {
  const person = draw.int(people);
  const company = `company-${person % companies}`;
  const base = { uuid: draw.uuid(), timestamp };
  if (index % 50 === 1) {
    const about = { name: `Company ${person % companies}`, seats: draw.int(500) };
    const properties = { $group_type: 'company', $group_key: company, $group_set: about };
    return { ...base, event: '$groupidentify', distinct_id: `person-${person}`, properties };
  }
  if (index % 50 === 2) {
    // A device that turns out to be a person: two ids of one.
    const properties = {
      $anon_distinct_id: `device-${person}`,
      $set: { plan: draw.pick(['free', 'team', 'business']) },
    };
    return { ...base, event: '$identify', distinct_id: `person-${person}`, properties };
  }
  const distinct_id = draw.chance(0.2) ? `device-${person}` : `person-${person}`;
  const path = draw.pick(pages);
  const properties = {
    $current_url: `https://shop.example${path}?utm_source=${draw.pick(['google', 'newsletter', 'friend'])}`,
    $pathname: path,
    $browser: draw.pick(['Chrome', 'Safari', 'Firefox', 'Edge']),
    $os: draw.pick(['Mac OS X', 'Windows', 'iOS', 'Android', 'Linux']),
    $referrer: draw.pick(['https://www.google.com/', 'https://news.example/', '$direct']),
    amount: draw.int(20_000) / 100,
    items: draw.int(9),
    test_group: draw.pick(['a', 'b']),
    $groups: { company },
    ...(index % 10 === 0 ? { $set: { email: `person${person}@shop.example`, visits: index } } : {}),
  };
  return { ...base, event: draw.pick(names), distinct_id, properties };
}

const longText = 'x'.repeat(450);

/** One of each kind of event that is stored changed, or not at all; `index` makes them differ. */
const faults: readonly ((index: number, now: number) => object)[] = [
  (index) => ({ event: 'without an id', distinct_id: '', properties: { index } }),
  (index) => ({ event: longText, distinct_id: `fault-${index}`, properties: { index } }),
  (index) => ({ event: 'invalid properties', distinct_id: `fault-${index}`, properties: [index] }),
  (index) => ({ event: 'invalid time', distinct_id: `fault-${index}`, timestamp: 'never', properties: { index } }),
  (index) => ({ event: 'long id', distinct_id: `${index}-${longText}`, properties: { index } }),
  (index, now) => ({
    event: 'tomorrow',
    distinct_id: `fault-${index}`,
    timestamp: new Date(now + 2 * dayMs).toISOString(),
    properties: { index },
  }),
  (index) => ({
    event: 'invalid flag',
    distinct_id: `fault-${index}`,
    properties: { $process_person_profile: 'perhaps' },
  }),
  (index) => ({ event: '$identify', distinct_id: `fault-${index}`, properties: { $anon_distinct_id: 'anonymous' } }),
  (index) => ({
    event: '$groupidentify',
    distinct_id: `fault-${index}`,
    properties: { $group_type: 'company', $group_key: longText, $group_set: { index } },
  }),
  (index) => ({
    event: '$$client_ingestion_warning',
    distinct_id: `fault-${index}`,
    properties: { $$client_ingestion_warning_message: 'slowed down' },
  }),
];

/** Events each of which causes a warning; about a third of them become dead letters. */
export function faultyEvents(count: number, now: number): object[] {
  return Array.from({ length: count }, (_, index) => faults[index % faults.length]?.(index, now) ?? {});
}
