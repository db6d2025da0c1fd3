import type { PlanPolicy, UnplannedPolicy } from '../contract/plan-policies.ts';

/** A tracking plan whose form has been checked: see read-plan.ts. */
export interface TrackingPlan {
  /** What happens to events that are not in the plan. */
  readonly unplanned_events: UnplannedPolicy;
  /** What happens to events with properties that their schema does not list, unless the event specifies it. */
  readonly unplanned_properties: UnplannedPolicy;
  /** What happens to events that violate their schema, unless the event specifies it. */
  readonly policy: PlanPolicy;
  /** Each name once. */
  readonly events: readonly PlannedEvent[];
}

export interface PlannedEvent {
  readonly name: string;
  readonly description?: string;
  readonly policy?: PlanPolicy;
  readonly unplanned_properties?: UnplannedPolicy;
  /** Of its properties: an object schema. */
  readonly schema: PropertySchema;
}

export const schemaTypes = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const;
export type SchemaType = (typeof schemaTypes)[number];

export const schemaFormats = ['date', 'date-time', 'email', 'uri', 'uuid'] as const;
export type SchemaFormat = (typeof schemaFormats)[number];

/** A value that `enum` and `const` may contain. Numbers that JavaScript cannot represent are opaque: see base/exact-json.ts. */
export type PlainValue = string | number | boolean | null;

/** The supported part of JSON Schema 2020-12. Numbers may be opaque, as in `PlainValue`. */
export interface PropertySchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: SchemaType | readonly SchemaType[];
  readonly enum?: readonly PlainValue[];
  readonly const?: PlainValue;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: SchemaFormat;
  readonly items?: PropertySchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, PropertySchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

export function typesOf({ type }: PropertySchema): readonly SchemaType[] | undefined {
  if (type === undefined) return undefined;
  return typeof type === 'string' ? [type] : type;
}
