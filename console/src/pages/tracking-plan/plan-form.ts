import type { PlanPolicy, UnplannedPolicy } from '../../../../src/wire/contract/plan-policies.ts';
import type { TrackingPlanRecord } from '../../../../src/wire/contract/tracking-plan.ts';

/** A plan in the editor, with every field of the API. */
export interface PlanDraft {
  readonly policy: PlanPolicy;
  readonly unplanned_events: UnplannedPolicy;
  readonly unplanned_properties: UnplannedPolicy;
  readonly events: readonly EventDraft[];
}

export interface EventDraft {
  readonly name: string;
  readonly description?: string;
  readonly policy?: PlanPolicy;
  readonly unplanned_properties?: UnplannedPolicy;
  readonly schema: EventSchema;
}

type Schema = Readonly<Record<string, unknown>>;

export interface EventSchema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

const emptyDraft: PlanDraft = { policy: 'warn', unplanned_events: 'allow', unplanned_properties: 'allow', events: [] };

/** Returns the stored plan for editing; an empty one if the project has none. */
export function draftOf(plan: TrackingPlanRecord['plan']): PlanDraft {
  const { events = [], ...rules } = plan ?? {};
  return {
    ...emptyDraft,
    ...rules,
    // Sound: the service has validated the schemas.
    events: events.map(({ schema = {}, ...event }) => Object.assign(event, { schema: schema as EventSchema })),
  };
}

/** Adds an event, or replaces the one with this name. */
export function withEvent(draft: PlanDraft, name: string | undefined, event: EventDraft): PlanDraft {
  const isKnown = draft.events.some((each) => each.name === name);
  const events = isKnown ? draft.events.map((each) => (each.name === name ? event : each)) : [...draft.events, event];
  return { ...draft, events };
}

export function withoutEvent(draft: PlanDraft, name: string): PlanDraft {
  return { ...draft, events: draft.events.filter((event) => event.name !== name) };
}

export const typeChoices = ['any', 'string', 'number', 'integer', 'boolean', 'object', 'array', 'several'] as const;
export type TypeChoice = (typeof typeChoices)[number];

/** A property as a row of the form. What the form cannot show stays in `schema`. */
export interface PropertyRow {
  readonly name: string;
  /** `several`: more than one type in addition to null, which only the JSON can change. */
  readonly type: TypeChoice;
  readonly isNullable: boolean;
  readonly isRequired: boolean;
  /** Allowed texts, separated by commas; `null` if only the JSON can change them. */
  readonly values: string | null;
  readonly schema: Schema;
}

/** Returns the rows of a schema; required properties without a schema have the type `any`. */
export function rowsOf({ properties = {}, required = [] }: EventSchema): PropertyRow[] {
  const names = [...new Set([...Object.keys(properties), ...required])];
  return names.map((name) => rowOf(name, properties[name] ?? {}, required.includes(name)));
}

function rowOf(name: string, schema: Schema, isRequired: boolean): PropertyRow {
  const { type } = schema;
  const types: readonly unknown[] = type === undefined ? [] : Array.isArray(type) ? type : [type];
  const own = types.filter((each) => each !== 'null');
  const choice = own.length > 1 || (own.length === 0 && types.length > 0) ? 'several' : (own[0] ?? 'any');
  return {
    name,
    type: typeChoices.find((each) => each === choice) ?? 'several',
    isNullable: types.includes('null'),
    isRequired,
    values: valuesText(schema['enum']),
    schema,
  };
}

function valuesText(values: unknown): string | null {
  if (values === undefined) return '';
  if (!Array.isArray(values)) return null;
  const isPlain = values.every((value) => typeof value === 'string' && value.trim() === value && !/[,]|^$/.test(value));
  return isPlain ? values.join(', ') : null;
}

/** Returns the schema of changed rows; keywords that the form does not show are kept. */
export function schemaOf(before: EventSchema, rows: readonly PropertyRow[]): EventSchema {
  const named = rows.filter(({ name }) => name !== '');
  const required = named.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const { required: _, ...rest } = before;
  return {
    ...rest,
    properties: Object.fromEntries(named.map((row) => [row.name, propertySchema(row)])),
    ...(required.length > 0 && { required }),
  };
}

function propertySchema({ type, isNullable, values, schema }: PropertyRow): Schema {
  const { type: before, enum: allowed, ...rest } = schema;
  const types = isNullable && type !== 'any' ? ['null', type] : type;
  const own = type === 'several' ? before : type === 'any' ? undefined : types;
  const list = values?.split(',').flatMap((value) => value.trim() || []) ?? [];
  const given = values === null ? allowed : list.length > 0 ? list : undefined;
  return { ...(own !== undefined && { type: own }), ...(given !== undefined && { enum: given }), ...rest };
}

/** Returns what is wrong with the name of an event; `undefined` if it can be used. */
export function nameFault(draft: PlanDraft, name: string, before: string | undefined): string | undefined {
  if (name === '') return 'Expected the name of an event.';
  const isTaken = name !== before && draft.events.some((event) => event.name === name);
  return isTaken ? 'The plan already has this event.' : undefined;
}

/** Returns what is wrong with the names of properties; `undefined` if they can be used. */
export function rowsFault(rows: readonly PropertyRow[]): string | undefined {
  const names = rows.map(({ name }) => name);
  if (names.includes('')) return 'Every property needs a name.';
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? undefined : `"${twice}" is listed twice.`;
}

/**
 * Adds what was learned from stored events to a draft with unsaved changes, which the service does not know: events that the draft
 * lacks, and with `replace` the learned schemas.
 */
export function mergeLearned(draft: PlanDraft, learned: PlanDraft, replace: boolean): PlanDraft {
  if (draft.events.length === 0) return learned;
  const known = new Map(draft.events.map((event) => [event.name, event]));
  for (const event of learned.events) {
    const own = known.get(event.name);
    known.set(event.name, own === undefined ? event : { ...own, schema: mergedSchema(own, event, replace) });
  }
  return { ...draft, events: [...known.values()] };
}

function mergedSchema(own: EventDraft, { schema }: EventDraft, replace: boolean): EventSchema {
  if (replace) return schema;
  return { ...own.schema, properties: { ...schema.properties, ...own.schema.properties } };
}
