import { mayHoldExact, parseExact } from '../../base/exact-json.ts';
import type { JsonObject } from '../../base/json.ts';
import { fieldFrom, fieldTo, plainText, stringAt } from '../../wire/batch/spans.ts';
import type { WarningOccurrence } from '../../wire/contract/warnings.ts';
import {
  strictest,
  violationSentence,
  type CompiledPlan,
  type Violation,
} from '../../wire/tracking-plan/compile-plan.ts';
import type { EventDraft } from '../event-draft.ts';
import { state, type OpenRecord } from '../open-record.ts';
import { deadLetter, drop, type Outcome } from '../outcome.ts';
import { unread } from '../read-event.ts';
import type { Step, StepDeps } from '../step.ts';

/** Validates an event against the project's tracking plan, counts violations, and applies their policy. */
export function checkPlan({ plans, violations }: Pick<StepDeps, 'plans' | 'violations'>) {
  return (draft: EventDraft, { context }: OpenRecord): Outcome => {
    const plan = plans.of(draft.projectId);
    if (plan === undefined) return undefined;
    const found = plan.check(draft.event, exactProperties(draft));
    if (found.length === 0) return undefined;
    const { uuid, distinctId, projectId } = draft;
    const { receivedAt } = context;
    violations.add({ projectId, receivedAt, uuid, distinctId }, found);
    const outcome = outcomeOf(found);
    if (outcome === undefined) draft.warnings.push(warningOf(found, { eventUuid: uuid, distinctId }));
    return outcome;
  };
}

/** Validates the names of events whose properties are not read; `splice-events.ts` selects those that this is enough for. */
export function checkSplicedNames({
  plans,
  violations,
  results,
}: Pick<StepDeps, 'plans' | 'violations' | 'results'>): Step {
  return (record) => {
    const { context, states, scan, splicer } = record;
    const plan = context.rowsStored === undefined ? plans.of(context.projectId) : undefined;
    if (plan === undefined) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced) continue;
      const violation = plan.checkName(splicedName(record, index));
      if (violation === undefined) continue;
      const { projectId, receivedAt } = context;
      const uuid = stringAt(scan.json, fieldFrom(scan, index, 'uuid'), fieldTo(scan, index, 'uuid')).toLowerCase();
      const distinctId = splicer.distinctId(index);
      violations.add({ projectId, receivedAt, uuid, distinctId }, [violation]);
      const outcome = outcomeOf([violation]);
      if (outcome === undefined) results.warn(context, [warningOf([violation], { eventUuid: uuid, distinctId })]);
      else results.end(record, index, outcome);
    }
  };
}

/** Whether the properties of an event that could be spliced must be read for the plan. */
export function needsReading(plan: CompiledPlan, record: OpenRecord, index: number): boolean {
  return plan.readsProperties(splicedName(record, index));
}

/** Returns the name of an event that the splicer accepts: without escapes. */
function splicedName({ scan }: OpenRecord, index: number): string {
  return plainText(scan.json, fieldFrom(scan, index, 'name') + 1, fieldTo(scan, index, 'name') - 1);
}

/** Returns the properties as they will be stored: as text if they have one, since objects in transformations may lack digits. */
function exactProperties({ properties, propertiesText }: EventDraft): JsonObject {
  const isEnough = propertiesText === null || (properties !== unread && !mayHoldExact(propertiesText));
  return isEnough ? properties : (parseExact(propertiesText) as JsonObject);
}

function outcomeOf(found: readonly Violation[]): Outcome {
  const policy = strictest(found);
  const first = found.find((violation) => violation.policy === policy);
  if (first === undefined || policy === 'warn') return undefined;
  const detail = violationSentence(found);
  const attr = first.property === '' ? 'event' : first.property;
  return policy === 'drop'
    ? drop('event_dropped_by_tracking_plan', detail, { event: first.event, rule: first.rule, property: first.property })
    : deadLetter('event_refused_by_tracking_plan', detail, attr);
}

function warningOf(found: readonly Violation[], ids: WarningOccurrence['details']): WarningOccurrence {
  const [first] = found;
  if (first === undefined) throw new Error('expected a violation, got none');
  const { event, rule, property } = first;
  const details = { ...ids, event, rule, property, detail: violationSentence(found) };
  return { type: 'tracking_plan_violated', details };
}
