import { isObject } from '../../base/json.ts';
import {
  planLimits,
  planPolicies,
  unplannedPolicies,
  type PlanPolicy,
  type UnplannedPolicy,
} from '../contract/plan-policies.ts';
import { notEventNames } from '../batch/not-events.ts';
import { readEventSchema } from './read-schema.ts';
import { shown, type PlanFault } from './plan-fault.ts';
import type { PlannedEvent, TrackingPlan } from './plan.ts';

/** A plan that cannot be used, with everything that is wrong with it. */
export class PlanError extends Error {
  override name = 'PlanError';
  readonly faults: readonly [PlanFault, ...PlanFault[]];

  constructor(faults: readonly [PlanFault, ...PlanFault[]]) {
    super(faults.map(({ path, detail }) => (path === '' ? detail : `${path}: ${detail}`)).join('\n'));
    this.faults = faults;
  }
}

export const emptyPlan: TrackingPlan = {
  unplanned_events: 'allow',
  unplanned_properties: 'allow',
  policy: 'warn',
  events: [],
};

const faultsMax = 20;
const planKeys = ['unplanned_events', 'unplanned_properties', 'policy', 'events'];
const eventKeys = ['name', 'description', 'policy', 'unplanned_properties', 'schema'];

/** Reads a plan from parsed JSON; fields that are missing get the values of `emptyPlan`. @throws PlanError */
export function readPlan(value: unknown): TrackingPlan {
  const faults: PlanFault[] = [];
  const report = (path: string, detail: string): void => void faults.push({ path, detail });
  const plan = isObject(value) ? readFields(value, report) : emptyPlan;
  if (!isObject(value)) report('', `expected an object with "events", got: ${shown(value)}`);
  const bytes = faults.length === 0 ? Buffer.byteLength(JSON.stringify(plan)) : 0;
  if (bytes > planLimits.planBytesMax) {
    report('', `expected a plan of at most ${planLimits.planBytesMax} bytes of JSON, got: ${bytes}; remove events`);
  }
  const [first, ...others] = faults.slice(0, faultsMax);
  if (first !== undefined) throw new PlanError([first, ...others]);
  return plan;
}

export type Report = (path: string, detail: string) => void;

function readFields(value: Readonly<Record<string, unknown>>, report: Report): TrackingPlan {
  refuseUnknown(value, planKeys, '', report);
  const { unplanned_events: unplannedEvents, unplanned_properties: unplannedProperties, policy, events = [] } = value;
  return {
    unplanned_events: oneOf(unplannedPolicies, unplannedEvents, 'unplanned_events', report) ?? 'allow',
    unplanned_properties: oneOf(unplannedPolicies, unplannedProperties, 'unplanned_properties', report) ?? 'allow',
    policy: oneOf(planPolicies, policy, 'policy', report) ?? 'warn',
    events: readEvents(events, report),
  };
}

function readEvents(events: unknown, report: Report): PlannedEvent[] {
  if (!Array.isArray(events)) {
    report('events', `expected a list of events, got: ${shown(events)}`);
    return [];
  }
  if (events.length > planLimits.eventsMax) {
    report('events', `expected at most ${planLimits.eventsMax} events, got: ${events.length}`);
    return [];
  }
  const seen = new Set<string>();
  return events.map((event: unknown, index) => {
    const path = `events.${index}`;
    const read = readEvent(event, path, report);
    if (read.name !== '' && seen.has(read.name)) {
      report(`${path}.name`, `expected each event once, got another ${shown(read.name)}: merge both`);
    }
    seen.add(read.name);
    return read;
  });
}

function readEvent(event: unknown, path: string, report: Report): PlannedEvent {
  if (!isObject(event)) {
    report(path, `expected an object with "name" and "schema", got: ${shown(event)}`);
    return { name: '', schema: {} };
  }
  refuseUnknown(event, eventKeys, path, report);
  const { name, description, policy, unplanned_properties: unplanned, schema = {} } = event;
  const [own, ownUnplanned] = [
    oneOf<PlanPolicy>(planPolicies, policy, `${path}.policy`, report),
    oneOf<UnplannedPolicy>(unplannedPolicies, unplanned, `${path}.unplanned_properties`, report),
  ];
  return {
    name: readName(name, `${path}.name`, report),
    ...(description !== undefined && { description: readDescription(description, `${path}.description`, report) }),
    ...(own !== undefined && { policy: own }),
    ...(ownUnplanned !== undefined && { unplanned_properties: ownUnplanned }),
    schema: readEventSchema(schema, `${path}.schema`, report),
  };
}

function readName(name: unknown, path: string, report: Report): string {
  if (typeof name !== 'string' || name === '' || name.length > planLimits.nameCharsMax || !name.isWellFormed()) {
    report(path, `expected the name of an event, 1 to ${planLimits.nameCharsMax} characters, got: ${shown(name)}`);
    return '';
  }
  if (notEventNames.includes(name)) report(path, `expected an event that is stored, got: ${name}, which never is`);
  return name;
}

function readDescription(description: unknown, path: string, report: Report): string {
  if (typeof description === 'string' && description.length <= planLimits.descriptionCharsMax) return description;
  report(path, `expected a text of at most ${planLimits.descriptionCharsMax} characters, got: ${shown(description)}`);
  return '';
}

function oneOf<T extends string>(known: readonly T[], value: unknown, path: string, report: Report): T | undefined {
  if (value === undefined) return undefined;
  const found = known.find((each) => each === value);
  if (found === undefined) report(path, `expected ${known.join(', ')}, got: ${shown(value)}`);
  return found;
}

function refuseUnknown(
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: string,
  report: Report,
): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) report(path, `expected only ${known.join(', ')}, got: ${shown(key)}`);
  }
}
