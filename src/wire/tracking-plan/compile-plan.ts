import { profileEvents } from '../contract/profile-events.ts';
import { planPolicies, type PlanPolicy, type UnplannedPolicy } from '../contract/plan-policies.ts';
import { compileSchema, type ValueCheck } from './compile-schema.ts';
import { shown } from './plan-fault.ts';
import type { PlannedEvent, TrackingPlan } from './plan.ts';

/** One rule of the plan that an event violates. */
export interface Violation {
  /** Name of the event. */
  readonly event: string;
  /** Path of the property: `items[].price`. Empty for a rule of the event as a whole. */
  readonly property: string;
  /** `unplanned_event`, `unplanned_property`, or the keyword of the schema. */
  readonly rule: string;
  readonly policy: PlanPolicy;
  /** What was expected and what was found. */
  readonly detail: string;
}

/** A plan, ready to validate events. */
export interface CompiledPlan {
  /** Whether the plan has rules for the properties of events with this name. */
  readsProperties(name: string): boolean;
  /** Validates an event of a name that `readsProperties` does not know. */
  checkName(name: string): Violation | undefined;
  /** Validates an event. `properties` keep every digit, as from `parseExact`. At most `violationsMax` violations. */
  check(name: string, properties: Readonly<Record<string, unknown>>): readonly Violation[];
}

export const violationsMax = 50;
const none: readonly Violation[] = [];

/** Compiles a plan once for many events. */
export function compilePlan(plan: TrackingPlan): CompiledPlan {
  const rules = new Map(plan.events.map((event) => [event.name, compileEvent(plan, event)]));
  const checkName: CompiledPlan['checkName'] = (name) => {
    if (plan.unplanned_events === 'allow' || isOfSystem(name)) return undefined;
    return {
      event: name,
      property: '',
      rule: 'unplanned_event',
      policy: plan.unplanned_events,
      detail: `expected an event of the tracking plan, got: ${shown(name)}`,
    };
  };
  return {
    readsProperties: (name) => rules.has(name),
    checkName,
    check: (name, properties) => {
      const rule = rules.get(name);
      if (rule !== undefined) return rule(properties);
      const found = checkName(name);
      return found === undefined ? none : [found];
    },
  };
}

/**
 * Names that begin with `$` belong to client libraries, which add them without being planned: they are validated only where the plan
 * names them.
 */
function isOfSystem(name: string): boolean {
  return name.startsWith('$');
}

type EventCheck = (properties: Readonly<Record<string, unknown>>) => readonly Violation[];

function compileEvent(plan: TrackingPlan, event: PlannedEvent): EventCheck {
  const { name, schema } = event;
  const own = event.policy ?? plan.policy;
  const unplanned = event.unplanned_properties ?? plan.unplanned_properties;
  // Without these events persons and groups would be incomplete: they are only counted.
  const isProfile = profileEvents.has(name);
  const policy = isProfile ? 'warn' : own;
  const unplannedPolicy = isProfile && unplanned !== 'allow' ? 'warn' : unplanned;
  const checks = new Map(Object.entries(schema.properties ?? {}).map(([key, each]) => [key, compileSchema(each)]));
  const required = [...new Set(schema.required ?? [])];
  return (properties) => {
    let found: Violation[] | undefined;
    const add = (property: string, rule: string, by: PlanPolicy, detail: string): void => {
      found ??= [];
      if (found.length < violationsMax) found.push({ event: name, property, rule, policy: by, detail });
    };
    for (const key of required) {
      if (!Object.hasOwn(properties, key)) add(key, 'required', policy, 'expected a value, got: none');
    }
    checkValues(properties, { checks, policy, unplanned: unplannedPolicy }, add);
    return found ?? none;
  };
}

interface ValueRules {
  readonly checks: ReadonlyMap<string, ValueCheck>;
  readonly policy: PlanPolicy;
  readonly unplanned: UnplannedPolicy;
}

function checkValues(
  properties: Readonly<Record<string, unknown>>,
  { checks, policy, unplanned }: ValueRules,
  add: (property: string, rule: string, policy: PlanPolicy, detail: string) => void,
): void {
  for (const key of Object.keys(properties)) {
    const check = checks.get(key);
    if (check === undefined) {
      if (unplanned === 'allow' || isOfSystem(key)) continue;
      add(key, 'unplanned_property', unplanned, `expected a property of the plan, got: ${shown(key)}`);
      continue;
    }
    const mismatch = check(properties[key]);
    if (mismatch === undefined) continue;
    const detail = `expected ${mismatch.expected}, got: ${shown(mismatch.value)}`;
    add(`${key}${mismatch.path}`, mismatch.keyword, policy, detail);
  }
}

/** Returns the strictest policy of the violations; `undefined` without violations. */
export function strictest(violations: readonly Violation[]): PlanPolicy | undefined {
  return planPolicies.findLast((policy) => violations.some((violation) => violation.policy === policy));
}

/** Describes the violation that decides, and the number of others. */
export function violationSentence(violations: readonly Violation[]): string {
  const policy = strictest(violations);
  const decisive = violations.find((violation) => violation.policy === policy);
  if (decisive === undefined) throw new Error('expected a violation, got none');
  const { property, detail } = decisive;
  const others = violations.length - 1;
  return `${property === '' ? '' : `${property}: `}${detail}${others === 0 ? '' : `; ${others} more`}`;
}
