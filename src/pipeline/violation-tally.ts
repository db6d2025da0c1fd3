import { sql } from 'kysely';
import { isoMicros } from '../base/clock.ts';
import { hourMs } from '../base/time.ts';
import type { PlanPolicy } from '../wire/contract/plan-policies.ts';
import type { Violation } from '../wire/tracking-plan/compile-plan.ts';
import type { Queries } from '../stores/metadata/queries.ts';
import { samplesMax } from './warning-tally.ts';

/** Rules of one project that are counted separately per hour; further ones are counted together, as rule `other`. */
export const rulesPerHourMax = 1000;
export const otherRule = 'other';
/** The same in memory, where a window may contain many projects. */
const rulesPerWindowMax = 500;
const pathCharsMax = 200;

/** An event that violates a plan, as its sample shows it. */
export interface ViolatingEvent {
  readonly projectId: number;
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  readonly uuid: string | null;
  readonly distinctId: string | null;
}

/** Violations of one rule within an hour. */
export interface ViolationCount {
  readonly projectId: number;
  /** Start of the hour of arrival, ISO 8601 with microseconds. */
  readonly hour: string;
  readonly event: string;
  readonly property: string;
  readonly rule: string;
  count: number;
  lastSeen: string;
  readonly samples: Readonly<Record<string, string | null>>[];
}

/** What a window found. */
export interface ViolationChanges {
  readonly counts: readonly ViolationCount[];
  readonly byPolicy: ReadonlyMap<PlanPolicy, number>;
}

/** Counts violations in memory; each window writes them once. */
export interface ViolationTally {
  add(of: ViolatingEvent, violations: readonly Violation[]): void;
  take(): ViolationChanges;
}

export function createViolationTally(): ViolationTally {
  let counts = new Map<string, ViolationCount>();
  let byPolicy = new Map<PlanPolicy, number>();
  const countOf = ({ projectId, receivedAt }: ViolatingEvent, { event, property, rule }: Violation): ViolationCount => {
    const hour = isoMicros(Math.floor(receivedAt / hourMs) * hourMs);
    const place = { event: storable(event), property: storable(property).slice(0, pathCharsMax), rule };
    const key = (of: typeof place): string => JSON.stringify([projectId, hour, of.event, of.property, of.rule]);
    const isKnown = counts.has(key(place)) || counts.size < rulesPerWindowMax;
    const own = isKnown ? place : { event: '', property: '', rule: otherRule };
    const found = counts.get(key(own)) ?? { projectId, hour, ...own, count: 0, lastSeen: '', samples: [] };
    counts.set(key(own), found);
    return found;
  };
  return {
    add: (of, violations) => {
      const seen = isoMicros(of.receivedAt);
      for (const violation of violations) {
        byPolicy.set(violation.policy, (byPolicy.get(violation.policy) ?? 0) + 1);
        const found = countOf(of, violation);
        found.count += 1;
        if (seen > found.lastSeen) found.lastSeen = seen;
        if (found.samples.length < samplesMax) found.samples.push(sampleOf(of, violation));
      }
    },
    take: () => {
      const taken = { counts: [...counts.values()], byPolicy };
      counts = new Map();
      byPolicy = new Map();
      return taken;
    },
  };
}

function sampleOf({ uuid, distinctId, receivedAt }: ViolatingEvent, { event, policy, detail }: Violation) {
  return { event, uuid, distinct_id: distinctId, detail, policy, received_at: isoMicros(receivedAt) };
}

/** PostgreSQL text cannot contain NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/**
 * Adds to the stored counts and keeps the latest samples. Belongs in the transaction that moves the cursor. Other slots may add to the
 * same rules: all use the same order, so that two transactions cannot deadlock.
 */
export async function addViolations(tx: Queries, counts: readonly ViolationCount[]): Promise<void> {
  for (const [, ofHour] of Map.groupBy(counts.toSorted(byKey), ({ projectId, hour }) => `${projectId} ${hour}`)) {
    let rows = await rowsOf(tx, ofHour[0] as ViolationCount);
    const others: ViolationCount[] = [];
    for (const count of ofHour) {
      if (await increase(tx, count)) continue;
      if (rows >= rulesPerHourMax && count.rule !== otherRule) others.push(count);
      else {
        await insert(tx, count);
        rows += 1;
      }
    }
    for (const count of others) await insert(tx, { ...count, event: '', property: '', rule: otherRule });
  }
}

async function rowsOf(tx: Queries, { projectId, hour }: ViolationCount): Promise<number> {
  const { rows } = await tx
    .selectFrom('tracking_plan_violations')
    .select((eb) => eb.fn.countAll<number>().as('rows'))
    .where('project_id', '=', projectId)
    .where('hour', '=', hour)
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** Returns false if the rule has no row yet. */
async function increase(tx: Queries, of: ViolationCount): Promise<boolean> {
  const found = await rowOf(tx, of)
    .set((eb) => ({ count: eb('count', '+', of.count), last_seen: latest(of.lastSeen) }))
    .returning('samples')
    .executeTakeFirst();
  if (found === undefined) return false;
  await keepSamples(tx, of, found.samples);
  return true;
}

async function insert(tx: Queries, of: ViolationCount): Promise<void> {
  const { projectId, hour, event, property, rule, count, lastSeen } = of;
  const { samples } = await tx
    .insertInto('tracking_plan_violations')
    .values({ project_id: projectId, hour, event, property, rule, count, last_seen: lastSeen, samples: '[]' })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'hour', 'event', 'property', 'rule']).doUpdateSet((eb) => ({
        count: eb('tracking_plan_violations.count', '+', eb.ref('excluded.count')),
        last_seen: latest(lastSeen),
      })),
    )
    .returning('samples')
    .executeTakeFirstOrThrow();
  await keepSamples(tx, of, samples);
}

function latest(seen: string) {
  const stored = sql.ref('tracking_plan_violations.last_seen');
  return sql<string>`case when ${stored} > ${seen} then ${stored} else ${seen} end`;
}

async function keepSamples(tx: Queries, of: ViolationCount, known: string): Promise<void> {
  const samples = [...of.samples, ...(JSON.parse(known) as unknown[])].slice(0, samplesMax);
  await rowOf(tx, of)
    .set({ samples: JSON.stringify(samples) })
    .execute();
}

function rowOf(tx: Queries, { projectId, hour, event, property, rule }: ViolationCount) {
  return tx
    .updateTable('tracking_plan_violations')
    .where('project_id', '=', projectId)
    .where('hour', '=', hour)
    .where('event', '=', event)
    .where('property', '=', property)
    .where('rule', '=', rule);
}

function byKey(a: ViolationCount, b: ViolationCount): number {
  return a.projectId - b.projectId || compareText(keyOf(a), keyOf(b));
}

function keyOf({ hour, event, property, rule }: ViolationCount): string {
  return [hour, event, property, rule].join('\0');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
