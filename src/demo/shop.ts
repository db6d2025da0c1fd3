import { dayMs, hourMs } from '../base/time.ts';

/** An event as `/batch/` accepts it and the import format `posthog` reads it. */
export interface ShopEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Properties;
}

type Properties = Readonly<Record<string, unknown>>;

interface Person {
  readonly anonymousId: string;
  readonly customerId: string;
  readonly properties: Properties;
  readonly device: Properties;
  readonly currency: string;
  readonly company: string | undefined;
}

interface Visit {
  readonly person: Person;
  readonly startMs: number;
  /** Customers have signed up in an earlier visit. */
  readonly kind: 'anonymous' | 'signUp' | 'customer';
  readonly landing: Properties;
  readonly product: { readonly name: string; readonly category: string; readonly price: number };
  readonly quantity: number;
}

interface Step {
  readonly event: string;
  /** The share of visits that get here from the step before; the others end. Default 1. */
  readonly share?: number;
  /** Visits that skip the step if it returns false. */
  readonly when?: (visit: Visit) => boolean;
  readonly properties: (visit: Visit) => Properties;
}

const isSignUp = ({ kind }: Visit): boolean => kind === 'signUp';
const isKnown = ({ kind }: Visit): boolean => kind !== 'anonymous';
const slugOf = (name: string): string => name.toLowerCase().replaceAll(' ', '-');
const page = (path: string): Properties => ({ $current_url: `https://shop.example${path}`, $pathname: path });

/** What happens in a visit, in this order. */
const steps: readonly Step[] = [
  { event: '$pageview', properties: ({ landing }) => ({ ...page('/'), ...landing }) },
  {
    event: '$identify',
    when: isSignUp,
    properties: ({ person }) => ({ $anon_distinct_id: person.anonymousId, $set: person.properties }),
  },
  {
    event: 'Signed Up',
    when: isSignUp,
    properties: ({ person }) => ({ method: person.company === undefined ? 'email' : 'invitation' }),
  },
  {
    event: '$groupidentify',
    when: (visit) => isSignUp(visit) && visit.person.company !== undefined,
    properties: ({ person: { company = '' } }) => ({
      $group_type: 'company',
      $group_key: slugOf(company),
      $group_set: { name: company },
    }),
  },
  { event: '$pageview', share: 0.9, properties: ({ product }) => page(`/products/${slugOf(product.name)}`) },
  { event: 'Product Viewed', properties: ({ product, person }) => ({ ...product, currency: person.currency }) },
  {
    event: 'Product Added',
    share: 0.5,
    properties: ({ product, person, quantity }) => ({ ...product, currency: person.currency, quantity }),
  },
  { event: '$pageview', share: 0.8, when: isKnown, properties: () => page('/checkout') },
  {
    event: 'Order Completed',
    share: 0.85,
    when: isKnown,
    properties: ({ product, person, quantity }) => ({
      product: product.name,
      amount: Math.round(product.price * 100 * quantity) / 100,
      currency: person.currency,
      quantity,
    }),
  },
];

const products: readonly Visit['product'][] = [
  { name: 'House Blend', category: 'coffee', price: 9.9 },
  { name: 'Ethiopia Guji', category: 'coffee', price: 14.5 },
  { name: 'Decaf', category: 'coffee', price: 11.5 },
  { name: 'Sencha', category: 'tea', price: 13 },
  { name: 'Earl Grey', category: 'tea', price: 8.5 },
  { name: 'Pour Over Kettle', category: 'equipment', price: 79 },
  { name: 'Hand Grinder', category: 'equipment', price: 119 },
  { name: 'Paper Filters', category: 'equipment', price: 5.9 },
];
const landings: readonly Properties[] = [
  { $referrer: '$direct' },
  { $referrer: 'https://search.example/' },
  { $referrer: 'https://search.example/', utm_source: 'search', utm_medium: 'cpc', utm_campaign: 'brand' },
  { $referrer: '$direct', utm_source: 'newsletter', utm_medium: 'email', utm_campaign: 'monthly' },
];
const devices: readonly Properties[] = [
  { $browser: 'Chrome', $os: 'Windows', $device_type: 'Desktop', $lib: 'web' },
  { $browser: 'Chrome', $os: 'Android', $device_type: 'Mobile', $lib: 'web' },
  { $browser: 'Safari', $os: 'iOS', $device_type: 'Mobile', $lib: 'web' },
  { $browser: 'Firefox', $os: 'Linux', $device_type: 'Desktop', $lib: 'web' },
];
const countries = [
  { country: 'Germany', currency: 'EUR' },
  { country: 'France', currency: 'EUR' },
  { country: 'United Kingdom', currency: 'GBP' },
  { country: 'United States', currency: 'USD' },
];
const firstNames = 'Ada Ben Clara David Emma Felix Grace Hugo Ines Jonas Lena Milan Nora Oscar Paula Sam'.split(' ');
const lastNames = 'Bauer Brown Costa Dubois Fischer Garcia Jansen Keller Martin Novak Rossi Smith Weber'.split(' ');
const companies = 'Acme Birch Cobalt Dune Ember Fjord Granite Harbor Indigo Juniper Kestrel Lumen Maple'.split(' ');

/** Visits on weekdays from Sunday, in months from January and in hours of the day, relative to the busiest. */
const weekdays = [0.75, 0.8, 0.8, 0.8, 0.85, 1, 0.6];
const months = [0.5, 0.5, 0.55, 0.55, 0.6, 0.55, 0.45, 0.45, 0.6, 0.65, 0.9, 1];
const hours = [12, 6, 6, 6, 6, 12, 25, 40, 50, 55, 60, 70, 75, 70, 60, 60, 60, 70, 80, 95, 100, 90, 60, 30];
const signUpShare = 0.85;
const liveVisits = 15;

export interface Shop {
  /** Events of the year up to an hour before the end, oldest first. */
  readonly history: readonly ShopEvent[];
  /** Events of the last hour, oldest first. */
  readonly live: readonly ShopEvent[];
}

/** Returns a year of a web shop that ends at `endMs`. The same arguments give the same events, ids included. */
export function shopEvents(endMs: number, personCount: number): Shop {
  const random = randomNumbers(personCount);
  const persons = Array.from({ length: personCount }, (_, number) => personOf(random, number));
  const history = persons.flatMap((person) => visitsOf(random, person, endMs));
  const live = Array.from({ length: liveVisits }, () => {
    const startMs = endMs - (0.4 + random() * 0.6) * hourMs;
    return visitOf(random, { person: pick(random, persons), startMs, kind: 'customer' });
  });
  const inOrder = (visits: readonly Visit[]): ShopEvent[] =>
    visits.flatMap((visit) => eventsOf(random, visit)).sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
  return { history: inOrder(history), live: inOrder(live) };
}

/** Returns the history as NDJSON with the flaws of real exports: some records are duplicates, some cannot be events. */
export function exportLines(history: readonly ShopEvent[]): string {
  const every = (count: number, first: number): ShopEvent[] => history.filter((_, index) => index % count === first);
  const rejected = every(2500, 100).map((event, index) =>
    Object.assign({}, event, index % 2 === 0 ? { distinct_id: '' } : { timestamp: 'yesterday', uuid: undefined }),
  );
  return [...history, ...every(1500, 300), ...rejected].map((event) => `${JSON.stringify(event)}\n`).join('');
}

function personOf(random: () => number, number: number): Person {
  const name = `${pick(random, firstNames)} ${pick(random, lastNames)}`;
  const { country, currency } = pick(random, countries);
  const email = `${name.toLowerCase().replace(' ', '.')}.${number}@example.com`;
  return {
    anonymousId: uuidOf(random),
    customerId: `customer-${1000 + number}`,
    properties: { name, email, country },
    device: pick(random, devices),
    currency,
    company: number % 4 === 0 ? pick(random, companies) : undefined,
  };
}

/** Persons sign up in their first or second visit, or never. */
function visitsOf(random: () => number, person: Person, endMs: number): Visit[] {
  const starts = Array.from({ length: 2 + Math.floor(random() * 17) }, () => startOf(random, endMs));
  const signUp = random() < signUpShare ? Math.floor(random() * 2) : Infinity;
  return starts
    .sort((a, b) => a - b)
    .map((startMs, index) => {
      const kind = index === signUp ? 'signUp' : index > signUp ? 'customer' : 'anonymous';
      return visitOf(random, { person, startMs, kind });
    });
}

/** More visits towards the end of the year, in the season, on weekdays and by day. */
function startOf(random: () => number, endMs: number): number {
  for (;;) {
    const startMs = endMs - 2 * hourMs - (1 - random() ** 0.75) * 364 * dayMs;
    const at = new Date(startMs);
    const weight =
      (weekdays[at.getUTCDay()] ?? 0) * (months[at.getUTCMonth()] ?? 0) * ((hours[at.getUTCHours()] ?? 0) / 100);
    if (random() < weight) return startMs;
  }
}

function visitOf(random: () => number, visit: Pick<Visit, 'person' | 'startMs' | 'kind'>): Visit {
  const quantity = 1 + Math.floor(random() * 2);
  return { ...visit, landing: pick(random, landings), product: pick(random, products), quantity };
}

function eventsOf(random: () => number, visit: Visit): ShopEvent[] {
  const { person, startMs, kind } = visit;
  const session = uuidOf(random);
  const events: ShopEvent[] = [];
  let isCustomer = kind === 'customer';
  let timeMs = startMs;
  for (const { event, share = 1, when, properties } of steps) {
    if (when?.(visit) === false) continue;
    if (random() >= share) break;
    isCustomer ||= event === '$identify';
    const groups = isCustomer && person.company !== undefined ? { $groups: { company: slugOf(person.company) } } : {};
    events.push({
      uuid: uuidOf(random),
      event,
      distinct_id: isCustomer ? person.customerId : person.anonymousId,
      timestamp: new Date(timeMs).toISOString(),
      properties: { ...properties(visit), ...groups, ...person.device, $session_id: session },
    });
    timeMs += 10_000 + Math.floor(random() * 50_000);
  }
  return events;
}

function pick<T>(random: () => number, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('expected values to pick from, got none');
  return value;
}

function uuidOf(random: () => number): string {
  const word = (): string =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const [first, second, third, fourth] = [word(), word(), word(), word()];
  const variant = '89ab'[Math.floor(random() * 4)];
  return `${first}-${second.slice(0, 4)}-4${second.slice(5)}-${variant}${third.slice(1, 4)}-${third.slice(4)}${fourth}`;
}

/** Returns the same numbers in [0, 1) for the same seed (mulberry32). Not for secrets. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
