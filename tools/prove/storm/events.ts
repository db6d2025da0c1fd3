/**
 * Events whose end result is the same in whatever order they arrive, and however often: properties set under an id have separate names,
 * no two events have the same time, and an anonymous id belongs to one user.
 */
import type { Draw } from '../../../test/support/draw.ts';

export interface StormEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>> & { readonly epoch: number };
}

/** What an event is made for. `batch`: the batch that it is sent in; undefined: it is imported. */
export interface EventPlace {
  readonly epoch: number;
  /** Of the whole storm: no two events have the same. */
  readonly number: number;
  readonly batch?: number;
}

const dayMs = 86_400_000;
const firstYear = 2012;
const daysInYear = 28;
const years = 12;
/** Months between events, so that a batch has several partitions. */
const months = [0, 2, 3, 7, 10];
/** Has no divisor in common with a day: consecutive numbers are far apart, and no two are equal. */
const strideMs = 7919;
/** Of an epoch, and of all of them. */
const people = { own: 24, shared: 10 } as const;

/** Days, as ms since the epoch, on which events of an epoch lie: other ones than those of the epochs around it. */
export function daysOf(epoch: number): number[] {
  const year = firstYear + (Math.floor(epoch / daysInYear) % years);
  return months.map((month) => Date.UTC(year, month, 1 + (epoch % daysInYear)));
}

export function makeEvent(draw: Draw, { epoch, number, batch }: EventPlace): StormEvent {
  const person = draw.chance(0.2) ? `all-${draw.int(people.shared)}` : `${epoch}-${draw.int(people.own)}`;
  const what = whatHappens(draw, number, person);
  const at = draw.pick(daysOf(epoch)) + ((number * strideMs) % dayMs);
  return {
    ...what,
    uuid: draw.uuid(),
    timestamp: new Date(at).toISOString(),
    properties: { epoch, n: number, ...(batch === undefined ? {} : { batch }), ...what.properties },
  };
}

interface Happening {
  readonly event: string;
  readonly distinct_id: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

function whatHappens(draw: Draw, n: number, person: string): Happening {
  const user = `user-${person}`;
  const anonymous = `anon-${person}-${draw.int(3)}`;
  const who = draw.chance(0.5) ? user : anonymous;
  const kind = draw.int(100);
  if (kind < 6) {
    const set = { [`${user} named`]: `№ ${n}` };
    return { event: '$identify', distinct_id: user, properties: { $anon_distinct_id: anonymous, $set: set } };
  }
  if (kind < 9) {
    return { event: '$create_alias', distinct_id: user, properties: { alias: `alias-${person}-${draw.int(2)}` } };
  }
  if (kind < 40) {
    return { event: 'is set', distinct_id: who, properties: { $set: { [`${who} p${draw.int(4)}`]: n } } };
  }
  if (kind < 45) return { event: 'is unset', distinct_id: who, properties: { $unset: [`${who} p${draw.int(4)}`] } };
  if (kind < 55) return { event: 'is first', distinct_id: who, properties: { $set_once: { [`${who} first`]: n } } };
  return { event: 'is seen', distinct_id: who, properties: { text: `line\n${n}"\\ü`, list: [n, { deep: [null] }] } };
}
