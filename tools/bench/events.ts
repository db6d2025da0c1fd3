import { createHash, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** Shape of a batch of generated events. */
export interface BatchShape {
  readonly events: number;
  /** Distinct persons in the whole run. */
  readonly people: number;
  /** Timestamps are spread evenly over this many months back from `endMs`. */
  readonly months: number;
  readonly historical: boolean;
  /** Whether every event sets properties of its person. Default: none does. */
  readonly sets?: boolean;
}

const endMs = Date.UTC(2025, 5, 28);
const monthMs = 30 * 86_400_000;
const paths = ['/', '/pricing', '/docs', '/docs/import', '/signup', '/blog/one-machine'];
const names = ['page viewed', 'button clicked', 'report opened', 'file exported', '$pageview'];

/** Cheap deterministic numbers: the same run always sends the same events. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One event of about 400 bytes with nine properties, as server libraries send it. */
function event(random: () => number, shape: BatchShape): object {
  const person = Math.floor(random() * shape.people);
  const at = shape.historical ? endMs - random() * shape.months * monthMs : Date.now() - random() * 1000;
  return {
    event: names[Math.floor(random() * names.length)],
    distinct_id: `person-${person}`,
    timestamp: new Date(at).toISOString(),
    uuid: randomUUID(),
    properties: {
      path: paths[Math.floor(random() * paths.length)],
      session: createHash('md5').update(String(person)).digest('hex'),
      duration_ms: Math.floor(random() * 60_000),
      price: Math.round(random() * 10_000) / 100,
      plan: random() < 0.2 ? 'paid' : 'free',
      referrer: 'https://example.com/some/where',
      width: 1440,
      returning: random() < 0.5,
      locale: 'en-GB',
      ...(shape.sets === true && {
        $set: { plan: random() < 0.2 ? 'paid' : 'free', visits: Math.floor(random() * 1000) },
      }),
    },
  };
}

/** Distinct gzipped bodies, ready to send. */
export function bodies(apiKey: string, count: number, shape: BatchShape, seed = 1): Buffer[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => {
    const batch = Array.from({ length: shape.events }, () => event(random, shape));
    const root = { api_key: apiKey, historical_migration: shape.historical || undefined, batch };
    return gzipSync(JSON.stringify(root), { level: 6 });
  });
}
