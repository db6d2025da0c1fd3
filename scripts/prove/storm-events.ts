/**
 * Events whose end result does not depend on the order in which they arrive: each anonymous id belongs to one user, properties
 * have times of their own, and who is joined with whom is the same whoever is joined first.
 */
import { createDraw, type Draw } from '../../test/support/draw.ts';

export interface StormBatch {
  /** Index of the project. */
  readonly project: number;
  readonly historical: boolean;
  readonly events: readonly object[];
}

export interface StormPlan {
  readonly seed: number;
  readonly projects: number;
  readonly events: number;
}

const batchEventsMax = 120;
const people = 200;
const firstMs = Date.parse('2024-02-20T00:00:00Z');

/** Of every project about a third is history. Batches have odd sizes, so that windows do not fall in with them. */
export function stormBatches({ seed, projects, events }: StormPlan): StormBatch[] {
  const draw = createDraw(seed);
  const batches: StormBatch[] = [];
  for (let made = 0; made < events;) {
    const count = Math.min(events - made, 1 + draw.int(batchEventsMax));
    const own = Array.from({ length: count }, (_, index) => stormEvent(draw, made + index));
    batches.push({ project: draw.int(projects), historical: draw.chance(0.33), events: own });
    made += count;
  }
  return batches;
}

function stormEvent(draw: Draw, number: number): object {
  const person = draw.int(people);
  const user = `user-${person}`;
  const anonymous = `anon-${person}-${draw.int(3)}`;
  const made = (event: string, distinctId: string, properties: object): object => ({
    event,
    distinct_id: distinctId,
    uuid: draw.uuid(),
    // No two have the same time.
    timestamp: new Date(firstMs + number * 1000 + draw.int(1000)).toISOString(),
    properties: { n: number, ...properties },
  });
  const kind = draw.int(100);
  if (kind < 6) return made('$identify', user, { $anon_distinct_id: anonymous, $set: { named: number } });
  if (kind < 9) return made('$create_alias', user, { alias: `alias-${person}-${draw.int(2)}` });
  if (kind < 10) return made('$merge_dangerously', user, { alias: `user-${(person + 100) % people}` });
  if (kind < 15) {
    const group = { $group_type: 'company', $group_key: `g-${draw.int(20)}` };
    return made('$groupidentify', user, { ...group, $group_set: { [`k${draw.int(3)}`]: number } });
  }
  if (kind < 60) return made('seen', draw.chance(0.5) ? user : anonymous, { $set: { [`p${draw.int(4)}`]: number } });
  if (kind < 70) return made('seen', user, { $set_once: { first: number }, $groups: { company: `g-${draw.int(20)}` } });
  return made('$pageview', draw.chance(0.5) ? user : anonymous, {});
}
