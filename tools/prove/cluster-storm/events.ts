/**
 * Events with the same end result however often they are sent and however batches of different senders interleave.
 *
 * - Crowd: known to all senders and both lanes. Properties set under an id have separate names, so that a merge never has to choose
 *   between two values; repeated properties are decided by event time; the set of merged ids does not depend on the order.
 * - Circles: a few ids of a single sender, in one lane. Their result depends on the order of their events, in which the sender sends
 *   them; a batch that is in the log twice may change what a merge chose (circleIds).
 */
import { createDraw, type Draw } from '../../../test/support/draw.ts';

export interface StormBatch {
  /** Index of the project. */
  readonly project: number;
  /** Index of the sender within the project; each sends one batch after the other. */
  readonly sender: number;
  readonly historical: boolean;
  readonly events: readonly StormEvent[];
}

export interface StormEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>> & { readonly n: number };
}

export interface StormPlan {
  readonly seed: number;
  readonly projects: number;
  readonly events: number;
  /** Slots that the first project is spread over; 1: none is. */
  readonly spread: number;
}

const sendersPerProject = 2;
const batchEventsMax = 120;
/** So many events for each, so that people are joined from the first batch to the last. */
const eventsPerPerson = 100;
const eventsPerCircle = 2000;
const peopleMin = 200;
const circlesMin = 12;
const circlePrefix = 'circle';
const firstMs = Date.parse('2024-02-20T00:00:00Z');

/** Index of the project that is spread, if one is. */
export const spreadProject = 0;

interface Size {
  readonly people: number;
  readonly circles: number;
}

type Make = (event: string, distinctId: string, properties: object) => StormEvent;

/**
 * Of every project about a third is history. Batches have irregular sizes, so that windows do not align with them. A project that is
 * spread has a crowd alone, since ids of different slots have no order among them.
 */
export function stormBatches({ seed, projects, events, spread }: StormPlan): StormBatch[] {
  const draw = createDraw(seed);
  const size: Size = {
    people: 2 * Math.ceil(Math.max(peopleMin, events / eventsPerPerson) / 2),
    circles: Math.ceil(Math.max(circlesMin, events / eventsPerCircle)),
  };
  const batches: StormBatch[] = [];
  for (let made = 0; made < events;) {
    const count = Math.min(events - made, 1 + draw.int(batchEventsMax));
    const place = { project: draw.int(projects), sender: draw.int(sendersPerProject), historical: draw.chance(0.33) };
    const circle = `${circlePrefix}-${place.sender}-${place.historical ? 'h' : 'l'}`;
    const of = place.project === spreadProject && spread > 1 ? undefined : circle;
    const own = Array.from({ length: count }, (_, index) => stormEvent(draw, made + index, size, of));
    batches.push({ ...place, events: own });
    made += count;
  }
  return batches;
}

/** Those of the ids for which the order of events matters. */
export function circleIds(ids: Iterable<string>): string[] {
  return [...ids].filter((id) => id.startsWith(circlePrefix));
}

/** `circle`: prefix of the ids of its sender; `undefined` without any. */
function stormEvent(draw: Draw, number: number, size: Size, circle: string | undefined): StormEvent {
  const make: Make = (event, distinct_id, properties) => ({
    event,
    distinct_id,
    uuid: draw.uuid(),
    // No two have the same time.
    timestamp: new Date(firstMs + number * 1000 + draw.int(1000)).toISOString(),
    properties: { n: number, ...properties },
  });
  if (circle === undefined || !draw.chance(0.25)) return crowdEvent(draw, number, make, size);
  return circleEvent(draw, number, make, `${circle}-${draw.int(size.circles)}`);
}

function crowdEvent(draw: Draw, n: number, make: Make, { people }: Size): StormEvent {
  const person = draw.int(people);
  const user = `user-${person}`;
  const anonymous = `anon-${person}-${draw.int(3)}`;
  const who = draw.chance(0.5) ? user : anonymous;
  const group = { $group_type: 'company', $group_key: `g-${draw.int(20)}` };
  const kind = draw.int(100);
  if (kind < 6) return make('$identify', user, { $anon_distinct_id: anonymous, $set: { [`${user} named`]: n } });
  if (kind < 9) return make('$create_alias', user, { alias: `alias-${person}-${draw.int(2)}` });
  if (kind < 10) return make('$merge_dangerously', user, { alias: `user-${(person + people / 2) % people}` });
  if (kind < 15) return make('$groupidentify', user, { ...group, $group_set: { [`k${draw.int(3)}`]: n } });
  if (kind < 55) return make('seen', who, { $set: { [`${who} p${draw.int(4)}`]: n } });
  if (kind < 60) return make('seen', who, { $unset: [`${who} p${draw.int(4)}`] });
  if (kind < 70) {
    return make('seen', user, { $set_once: { [`${user} first`]: n }, $groups: { company: group.$group_key } });
  }
  return make('$pageview', who, {});
}

function circleEvent(draw: Draw, n: number, make: Make, circle: string): StormEvent {
  const user = `${circle}-u${draw.int(2)}`;
  const anonymous = `${circle}-a${draw.int(4)}`;
  const who = draw.chance(0.5) ? user : anonymous;
  const kind = draw.int(100);
  if (kind < 8) return make('$identify', user, { $anon_distinct_id: anonymous, $set: { colour: n } });
  if (kind < 10) return make('$identify', user, { $anon_distinct_id: `${circle}-u${draw.int(2)}` });
  if (kind < 13) return make('$create_alias', user, { alias: anonymous });
  if (kind < 14) return make('$merge_dangerously', anonymous, { alias: user });
  if (kind < 70) return make('seen', who, { $set: { colour: n, [`p${draw.int(4)}`]: n }, $set_once: { first: n } });
  if (kind < 75) return make('seen', who, { $unset: ['colour'] });
  return make('$pageview', who, {});
}
