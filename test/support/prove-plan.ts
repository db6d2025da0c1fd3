/** Learns a tracking plan from stored events, then finds planted faults with it, live and in the check of an import. */
import { eventShapes } from '../../src/stores/events/event-shapes.ts';
import type { EventStore } from '../../src/stores/events/eventstore.ts';
import { savePlan } from '../../src/stores/metadata/tracking-plans.ts';
import { learnLimits, planLimits } from '../../src/wire/contract/plan-policies.ts';
import { learnPlan } from '../../src/wire/tracking-plan/learn-plan.ts';
import type { TrackingPlan } from '../../src/wire/tracking-plan/plan.ts';
import { readPlan } from '../../src/wire/tracking-plan/read-plan.ts';
import { insertRows, testRow } from '../conformance/event-store/event-store.ts';
import { checkTest } from './check-stage.ts';
import { createBench } from './pipeline.ts';
import { refine, ruleName, type SentEvent } from './planned-events.ts';

const perBatch = 5000;

export async function storeEvents(store: EventStore, projectId: number, events: readonly SentEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += perBatch) {
    const rows = events
      .slice(from, from + perBatch)
      .map(({ uuid, event, distinct_id: distinctId, timestamp, properties }) => {
        const timestampMicros = Date.parse(timestamp) * 1000;
        const keyDay = Math.floor(timestampMicros / 86_400_000_000);
        return testRow(projectId, { uuid, event, distinctId, timestampMicros, keyDay, properties });
      });
    await insertRows(store, `plan-${projectId}-${from}`, rows);
  }
}

/** Learns from everything that the project has stored, and adds what only a user knows. */
export async function learnStored(store: EventStore, projectId: number): Promise<TrackingPlan> {
  const limits = {
    ...planLimits,
    sampleMax: learnLimits.sampleMax,
    textsMax: learnLimits.valuesMax,
    textCharsMax: learnLimits.valueCharsMax,
  };
  const { events } = await eventShapes(store, projectId, {}, limits);
  const { draft } = learnPlan(events, {});
  return refine({
    ...draft,
    policy: 'dead_letter',
    unplanned_events: 'dead_letter',
    unplanned_properties: 'dead_letter',
  });
}

/** What the plan stopped: uuids, and how often each rule was violated. */
export interface Stopped {
  readonly uuids: ReadonlySet<string>;
  readonly rules: ReadonlyMap<string, number>;
  /** Events that were stored. */
  readonly stored: number;
}

/** Sends the events through the pipeline. */
export async function stopLive(plan: TrackingPlan, events: readonly SentEvent[]): Promise<Stopped> {
  await using bench = await createBench();
  const text = JSON.stringify(readPlan(plan));
  const { db, projectId } = bench;
  await savePlan(db, { projectId, before: 0, plan: text, userId: null, now: Date.now() });
  for (let from = 0; from < events.length; from += perBatch) {
    const batch = events
      .slice(from, from + perBatch)
      .map(lineOf)
      .join(',');
    await bench.append('live', `{"batch":[${batch}]}`, { receivedAt: Date.parse(events[from]?.timestamp ?? '') });
    await bench.drain();
  }
  const letters = await bench.deadLetters();
  const rows = await db.selectFrom('tracking_plan_violations').selectAll().execute();
  const rules = new Map<string, number>();
  for (const row of rows) rules.set(ruleName(row), (rules.get(ruleName(row)) ?? 0) + Number(row.count));
  return { uuids: new Set(letters.map(({ event_uuid: id }) => id ?? '')), rules, stored: bench.recording.rows.length };
}

/** Imports the events up to the end of the check. */
export async function stopImported(
  plan: TrackingPlan,
  events: readonly SentEvent[],
  threads: number,
): Promise<Stopped> {
  await using test = await checkTest({ format: 'posthog', rejectedMax: 1 });
  await test.stage('events.jsonl', events.map(lineOf), Math.ceil(events.length / 4));
  const trackingPlan = async () => ({ version: 1, plan: JSON.stringify(readPlan(plan)) });
  const { findings = [], totals } = await test.check({ trackingPlan, threads });
  const rejected = await test.rejected();
  const found = findings.filter(({ code }) => code === 'tracking_plan');
  return {
    uuids: new Set(rejected.map(({ original }) => (JSON.parse(original) as SentEvent).uuid)),
    rules: new Map(found.map(({ detail, count }) => [detail, count ?? 0])),
    stored: totals.events - (totals.rejected_events ?? 0),
  };
}

function lineOf({ properties, ...fields }: SentEvent): string {
  return `${JSON.stringify(fields).slice(0, -1)},"properties":${properties}}`;
}
