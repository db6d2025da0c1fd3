import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import {
  strictest,
  violationSentence,
  type CompiledPlan,
  type Violation,
} from '../../../../wire/tracking-plan/compile-plan.ts';
import type { RecordResult } from '../../../formats/format.ts';
import type { RefusedEvent } from '../segment/convert-event.ts';

type Refusal = Pick<RefusedEvent, 'code' | 'reason'>;

/** A record after the plan: events that it drops are excluded, and those that it refuses are failures. */
export interface PlannedResult {
  readonly result: RecordResult;
  readonly failures: readonly Refusal[];
}

/** Why an event is excluded. */
export const planDropReason = 'dropped by the tracking plan';
const refusedCode = 'event_refused_by_tracking_plan';
const noFailures: readonly Refusal[] = [];

export interface ApplyPlanDeps {
  readonly plan: CompiledPlan;
  /** Whether the reader created the event only to link two ids. Links are not events of the source, and are not validated. */
  readonly isLink: (event: WireEvent) => boolean;
  readonly onViolations: (violations: readonly Violation[]) => void;
}

/** Validates the events of a record and applies the policies of the plan. */
export function applyPlan({ plan, isLink, onViolations }: ApplyPlanDeps, result: RecordResult): PlannedResult {
  if (result.kind !== 'events') return { result, failures: noFailures };
  const events: WireEvent[] = [];
  const failures: Refusal[] = [];
  const leftOut = [...(result.chosen?.leftOut ?? [])];
  for (const event of result.events) {
    const violations = isLink(event) ? [] : plan.check(event.event, event.properties);
    if (violations.length > 0) onViolations(violations);
    const policy = strictest(violations);
    if (policy === 'drop') leftOut.push(planDropReason);
    else if (policy === 'dead_letter') {
      failures.push({ code: refusedCode, reason: violationSentence(violations) });
    } else events.push(event);
  }
  const chosen = { read: result.chosen?.read ?? result.events.length, leftOut };
  const isDropped = result.events.length > 0 && events.length + failures.length === 0;
  const { unusual, notes } = result;
  const found = { chosen, ...(unusual && { unusual }), ...(notes && { notes }) };
  return {
    result: isDropped ? { kind: 'skipped', reason: planDropReason, ...found } : { kind: 'events', events, ...found },
    failures,
  };
}

/** What the plan decides about one event. */
export interface PlanOutcome {
  /** One sentence per rule. */
  readonly violations: readonly string[];
  readonly isDropped: boolean;
  readonly refused: Refusal | null;
}

export function planOutcome(plan: CompiledPlan | undefined, event: WireEvent): PlanOutcome {
  const found = plan?.check(event.event, event.properties) ?? [];
  const policy = strictest(found);
  return {
    violations: found.map((violation) => violationSentence([violation])),
    isDropped: policy === 'drop',
    refused: policy === 'dead_letter' ? { code: refusedCode, reason: violationSentence(found) } : null,
  };
}
