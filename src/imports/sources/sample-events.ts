import { dayMs } from '../../base/time.ts';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { derivedId } from '../../base/ids.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { definePlugin, type ImportAppPlugin, type JobContext } from '../../plugins/plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { integerSetting, textSetting } from '../../plugins/setting-values.ts';

const eventsPerBatch = 1000;
const countMax = 200_000;
const daysMax = 3650;
/** Independent of the settings: the events of a day must not depend on their number. */
const persons = 400;

const fields = [
  {
    key: 'count',
    name: 'Events',
    type: 'number',
    integer: true,
    minimum: 1,
    maximum: countMax,
    default: '10000',
    hint: `How many events in all, 1 to ${countMax}, spread evenly over the days.`,
  },
  {
    key: 'days',
    name: 'Days back',
    type: 'number',
    integer: true,
    minimum: 1,
    maximum: daysMax,
    default: '90',
    hint: `1 to ${daysMax}, up to now.`,
  },
  {
    key: 'seed',
    name: 'Seed',
    type: 'string',
    default: 'millrace',
    hint: 'A different seed generates a different history.',
  },
] as const satisfies readonly PluginField[];

/**
 * Fills a project with generated events. Each day's events follow from project, seed and day alone: running it again stores no
 * duplicates and adds the days (and hours) since.
 */
export function sampleEvents(clock: Clock): ImportAppPlugin {
  return definePlugin({
    slug: 'sample-events',
    kind: 'import-app',
    name: 'Sample events',
    description:
      'Fills the project with generated events of a small web shop, oldest first. Running it again adds only what is new.',
    version: '1.0.0',
    fields,
    jobs: {
      run: { description: 'Sends the generated events.', run: (context) => sendAll(context, clock.now()) },
    },
  });
}

interface SampleEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: JsonObject;
}

async function sendAll(context: JobContext, now: number): Promise<void> {
  const count = integerSetting(context.settings, 'count', { standard: 10_000, min: 1, max: countMax });
  const days = integerSetting(context.settings, 'days', { standard: 90, min: 1, max: daysMax });
  const seed = textSetting(context.settings, 'seed', 'millrace');
  const today = Math.floor(now / dayMs);
  let batch: SampleEvent[] = [];
  for (let index = 0; index < days; index++) {
    const perDay = Math.floor(((index + 1) * count) / days) - Math.floor((index * count) / days);
    const day = { projectId: context.projectId, seed, day: today - days + 1 + index, count: perDay };
    for (const event of await eventsOfDay(day)) {
      if (Date.parse(event.timestamp) > now) continue;
      batch.push(event);
      if (batch.length < eventsPerBatch) continue;
      await send(context, batch, now);
      batch = [];
    }
  }
  if (batch.length > 0) await send(context, batch, now);
}

async function send(context: JobContext, batch: readonly SampleEvent[], now: number): Promise<void> {
  context.signal.throwIfAborted();
  const first = batch[0];
  await context.accept({
    lane: 'historical',
    projectId: context.projectId,
    body: Buffer.from(JSON.stringify({ historical_migration: true, batch })),
    encoding: 'identity',
    events: batch.length,
    receivedAt: now,
    requestId: derivedId('sample-events', String(context.projectId), first?.uuid ?? ''),
  });
}

interface SampleDay {
  readonly projectId: number;
  readonly seed: string;
  /** Days since the epoch. */
  readonly day: number;
  readonly count: number;
}

/**
 * Returns events in chronological order. The random numbers of a day depend only on seed and day; `count` only truncates them.
 */
async function eventsOfDay({ projectId, seed, day, count }: SampleDay): Promise<SampleEvent[]> {
  const random = randomNumbers(`${seed}/${day}`);
  const events: SampleEvent[] = [];
  for (let index = 0; index < count; index++) {
    // Yields to other work of the service.
    if (index % eventsPerBatch === 0) await setImmediate();
    const person = Math.floor(random() ** 2 * persons);
    const { event, properties } = whatHappened(person, random);
    events.push({
      uuid: derivedId('sample-events', String(projectId), seed, String(day), String(index)),
      event,
      distinct_id: `sample-${derivedId(seed, String(person)).slice(0, 8)}`,
      timestamp: new Date(day * dayMs + Math.floor(timeOfDay(random) * dayMs)).toISOString(),
      properties: { ...properties, $lib: 'millrace-sample-events' },
    });
  }
  return events.sort((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0));
}

/** More events by day than by night. */
function timeOfDay(random: () => number): number {
  return (random() + random() + random()) / 3;
}

const pages = ['/', '/pricing', '/docs', '/blog/shipping-faster', '/login', '/cart'] as const;
const browsers = ['Chrome', 'Safari', 'Firefox', 'Edge'] as const;
const systems = ['Mac OS X', 'Windows', 'iOS', 'Android', 'Linux'] as const;
const sources = ['google', 'newsletter', 'github', 'friend'] as const;
const plans = ['free', 'team', 'business'] as const;
const firstNames = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Ken'] as const;

function whatHappened(person: number, random: () => number): { event: string; properties: JsonObject } {
  const device = {
    $browser: pick(browsers, person / 7),
    $os: pick(systems, person / 11),
    $device_type: person % 3 === 0 ? 'Mobile' : 'Desktop',
  };
  const kind = random();
  if (kind < 0.7) {
    const path = pick(pages, random());
    const source = random() < 0.2 ? `?utm_source=${pick(sources, random())}` : '';
    const address = {
      $current_url: `https://shop.example.com${path}${source}`,
      $pathname: path,
      $host: 'shop.example.com',
    };
    return { event: '$pageview', properties: { ...device, ...address } };
  }
  if (kind < 0.85) {
    return { event: 'product viewed', properties: { ...device, product: `product-${Math.floor(random() * 40) + 1}` } };
  }
  if (kind < 0.95) {
    const plan = pick(plans, person / 13);
    const name = pick(firstNames, person / 5);
    return {
      event: 'signed in',
      properties: {
        ...device,
        $set: { name: `${name} ${person}`, email: `person${person}@shop.example.com`, plan },
        $set_once: { first_source: pick(sources, person / 3) },
      },
    };
  }
  const amount = Math.round(random() * 20_000) / 100;
  return { event: 'order placed', properties: { ...device, amount, currency: 'EUR', items: Math.ceil(random() * 5) } };
}

/** Selects by the fraction of `position`, so both random numbers and person numbers can be used. */
function pick<Item>(items: readonly [Item, ...Item[]], position: number): Item {
  return items[Math.floor((position % 1) * items.length)] ?? items[0];
}

/** Returns the same numbers in [0, 1) for the same seed: mulberry32 on an FNV-1a hash. Not for secrets. */
function randomNumbers(seed: string): () => number {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
