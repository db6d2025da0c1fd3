import { planLimits } from '../contract/plan-policies.ts';
import type { PlannedEvent, PropertySchema, SchemaType, TrackingPlan } from './plan.ts';

/** What stored events of one name look like: see stores/events/event-shapes.ts. */
export interface SeenEvent {
  readonly name: string;
  readonly count: number;
  readonly properties: readonly SeenProperty[];
}

export interface SeenProperty {
  readonly name: string;
  /** Events that have it. */
  readonly count: number;
  /** JSON type → number of values. */
  readonly types: Readonly<Record<string, number>>;
  /** Every text value, as a JSON string; `undefined` if there are too many. */
  readonly texts: readonly string[] | undefined;
}

/** A rule that the draft has and the plan has not, or has differently. */
export interface PlanChange {
  readonly event: string;
  /** `null` for the event as a whole. */
  readonly property: string | null;
  readonly kind: 'added' | 'changed' | 'removed';
}

export interface LearnedPlan {
  readonly draft: TrackingPlan;
  readonly changes: readonly PlanChange[];
  /** Names that exceed the limits of a plan. */
  readonly leftOut: readonly string[];
}

/** A plan that is learned without an earlier one reports everything and stops nothing. */
const firstPlan: TrackingPlan = {
  unplanned_events: 'warn',
  unplanned_properties: 'warn',
  policy: 'warn',
  events: [],
};

/** Fewer events say little about which properties are required, or which values are possible. */
const eventsMin = 20;
const eventsPerValueMin = 10;

/**
 * Drafts a plan from what was seen. Events and properties that the plan lacks are added; what it has stays, unless `replace` is set:
 * then the schemas of seen events are learned again. Nothing that was seen violates a learned schema.
 */
export function learnPlan(
  seen: readonly SeenEvent[],
  { plan = firstPlan, replace = false }: { readonly plan?: TrackingPlan | undefined; readonly replace?: boolean },
): LearnedPlan {
  const events = new Map(plan.events.map((event) => [event.name, event]));
  const leftOut: string[] = [];
  let bytes = Buffer.byteLength(JSON.stringify(plan));
  for (const each of seen) {
    const before = events.get(each.name);
    const after = learnEvent(each, before, replace);
    const own = Buffer.byteLength(JSON.stringify(after));
    const grown = own - (before === undefined ? -1 : Buffer.byteLength(JSON.stringify(before)));
    const fits =
      bytes + grown <= planLimits.planBytesMax &&
      Buffer.byteLength(JSON.stringify(after.schema)) <= planLimits.schemaBytesMax &&
      (before !== undefined || events.size < planLimits.eventsMax);
    if (!fits) leftOut.push(each.name);
    else {
      events.set(each.name, after);
      bytes += grown;
    }
  }
  const draft = { ...plan, events: [...events.values()] };
  return { draft, changes: planChanges(plan, draft), leftOut };
}

function learnEvent(seen: SeenEvent, before: PlannedEvent | undefined, replace: boolean): PlannedEvent {
  const learned = learnSchema(seen);
  if (before === undefined) return { name: seen.name, schema: learned };
  if (replace) return { ...before, schema: learned };
  const known = before.schema.properties ?? {};
  const added = Object.entries(learned.properties ?? {}).filter(([name]) => !Object.hasOwn(known, name));
  if (added.length === 0) return before;
  const room = planLimits.propertiesMax - Object.keys(known).length;
  const properties = Object.fromEntries([...Object.entries(known), ...added.slice(0, Math.max(0, room))]);
  return { ...before, schema: { ...before.schema, properties } };
}

function learnSchema({ count, properties }: SeenEvent): PropertySchema {
  const usable = properties.filter(({ name }) => name.length <= planLimits.nameCharsMax);
  const some = usable.slice(0, planLimits.propertiesMax);
  const required = count < eventsMin ? [] : some.filter((each) => each.count >= count).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(some.map((each) => [each.name, learnProperty(each)])),
    ...(required.length > 0 && { required: required.toSorted() }),
  };
}

function learnProperty(seen: SeenProperty): PropertySchema {
  const { count, texts } = seen;
  const types = learnTypes(seen);
  const [only] = types;
  // A value that was never set says nothing about its type.
  if (types.length === 1 && only === 'null') return {};
  const isEnum =
    types.length === 1 &&
    only === 'string' &&
    texts !== undefined &&
    count >= Math.max(1, texts.length) * eventsPerValueMin;
  const type = types.length === 1 && only !== undefined ? only : types;
  return isEnum && count >= eventsMin ? { type, enum: texts.map((text) => JSON.parse(text) as string) } : { type };
}

function learnTypes({ types }: SeenProperty): readonly SchemaType[] {
  // Sound: the store names the types of JSON Schema.
  const seen = Object.keys(types).toSorted() as SchemaType[];
  return seen.includes('number') ? seen.filter((type) => type !== 'integer') : seen;
}

/** Compares two plans event by event and property by property. */
export function planChanges(before: TrackingPlan, after: TrackingPlan): PlanChange[] {
  const known = new Map(before.events.map((event) => [event.name, event]));
  const kept = new Set(after.events.map(({ name }) => name));
  const removed = before.events.filter(({ name }) => !kept.has(name));
  return [
    ...after.events.flatMap((event) => eventChanges(known.get(event.name), event)),
    ...removed.map(({ name }) => ({ event: name, property: null, kind: 'removed' as const })),
  ];
}

function eventChanges(before: PlannedEvent | undefined, after: PlannedEvent): PlanChange[] {
  const { name: event } = after;
  if (before === undefined) return [{ event, property: null, kind: 'added' }];
  const [old, now] = [rulesOf(before), rulesOf(after)];
  const found: PlanChange[] = [];
  for (const [property, rule] of now) {
    if (!old.has(property)) found.push({ event, property, kind: 'added' });
    else if (old.get(property) !== rule) found.push({ event, property, kind: 'changed' });
  }
  for (const property of old.keys()) if (!now.has(property)) found.push({ event, property, kind: 'removed' });
  const { schema: _before, ...oldRest } = before;
  const { schema: _after, ...rest } = after;
  if (JSON.stringify(oldRest) !== JSON.stringify(rest)) found.push({ event, property: null, kind: 'changed' });
  return found;
}

/** Returns the schema of each property, and whether it is required, as text. */
function rulesOf({ schema: { properties = {}, required = [] } }: PlannedEvent): Map<string, string> {
  const names = new Set([...Object.keys(properties), ...required]);
  return new Map([...names].map((name) => [name, JSON.stringify([properties[name], required.includes(name)])]));
}
