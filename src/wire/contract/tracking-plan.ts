import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { learnLimits, planLimits, planPolicies, planPolicyMeanings, unplannedPolicies } from './plan-policies.ts';
import { pageSchema } from './pagination.ts';
import { stated } from './stated.ts';

const meanings = (policies: readonly (keyof typeof planPolicyMeanings)[]): string =>
  policies.map((policy) => `\`${policy}\`: ${planPolicyMeanings[policy]}.`).join(' ');

const policy = Type.Enum([...planPolicies], {
  description: `What happens to events that violate their schema, unless the event specifies it. ${meanings(planPolicies)}`,
});
const unplanned = (of: string) =>
  Type.Enum([...unplannedPolicies], { description: `What happens to ${of}. ${meanings(unplannedPolicies)}` });

/** The validation of its details is that of tracking-plan/read-plan.ts, whose errors name the place. */
const plannedEventSchema = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: planLimits.nameCharsMax,
    description: 'Name of the event, compared exactly.',
  }),
  description: Type.Optional(Type.String({ maxLength: planLimits.descriptionCharsMax })),
  policy: Type.Optional(
    Type.Enum([...planPolicies], { description: 'What happens to events of this name that violate their schema.' }),
  ),
  unplanned_properties: Type.Optional(unplanned('events of this name with properties that their schema does not list')),
  schema: Type.Optional(
    Type.Object(
      {
        type: Type.Optional(Type.Literal('object')),
        properties: Type.Optional(
          Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of each property, by name.' }),
        ),
        required: Type.Optional(
          Type.Array(Type.String({ maxLength: planLimits.nameCharsMax }), { maxItems: planLimits.propertiesMax }),
        ),
      },
      {
        description: 'JSON Schema (2020-12) of the properties. The guide lists the supported keywords.',
        examples: [{ type: 'object', properties: { price: { type: 'number', minimum: 0 } }, required: ['price'] }],
      },
    ),
  ),
});

export const trackingPlanSchema = Type.Object({
  unplanned_events: Type.Optional(unplanned('events that the plan does not contain')),
  unplanned_properties: Type.Optional(
    unplanned('events with properties that their schema does not list, unless the event specifies it'),
  ),
  policy: Type.Optional(policy),
  events: Type.Optional(Type.Array(plannedEventSchema, { maxItems: planLimits.eventsMax })),
});
export type TrackingPlanBody = Static<typeof trackingPlanSchema>;

const user = Type.Object({ id: Type.Integer(), first_name: Type.String(), email: Type.String() });

const versionFields = {
  version: Type.Integer({ minimum: 0, description: 'Increases with every change. 0 if there was no plan yet.' }),
  updated_at: orNull(Type.String({ format: 'date-time' }), 'Null if there was no plan yet.'),
  updated_by: orNull(user, 'The user who saved it. Null for the service itself and for deleted users.'),
};

export const trackingPlanRecordSchema = Type.Object({
  ...versionFields,
  plan: orNull(trackingPlanSchema, 'Null if the project has no plan.'),
});
export type TrackingPlanRecord = Static<typeof trackingPlanRecordSchema>;

export const trackingPlanVersionsSchema = pageSchema(
  Type.Object({
    ...versionFields,
    events: orNull(Type.Integer(), 'Number of events in the plan. Null for a version that removed the plan.'),
  }),
);

export const trackingPlanVersionParamsSchema = Type.Object({
  version: Type.Integer({ minimum: 1, description: 'Number of the version.' }),
});

const violationFields = {
  event: Type.String({ description: 'Name of the event. Empty if the row counts several rules together.' }),
  property: Type.String({ description: 'Path of the property. Empty for a rule of the event as a whole.' }),
  rule: Type.String({
    description: 'Keyword of the schema, `unplanned_event`, `unplanned_property`, or `other` beyond the limit of rows.',
  }),
};

export const violationsQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({ ...stated.time, description: 'ISO 8601 time, rounded down to the hour. Default 7 days ago.' }),
  ),
  before: Type.Optional(
    Type.String({ ...stated.time, description: 'Only hours that start before this ISO 8601 time.' }),
  ),
  event: Type.Optional(Type.String({ maxLength: planLimits.nameCharsMax, description: 'Only this event.' })),
  by: Type.Optional(Type.Enum(['hour', 'day'], { description: 'Length of the periods. Default `hour`.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Number of rules. Default 100.' })),
});

export const violationsSchema = Type.Object({
  count: Type.Integer({ description: 'Violations of all rules.' }),
  rules: Type.Integer({ description: 'Number of rules that were violated.' }),
  results: Type.Array(
    Type.Object({
      ...violationFields,
      count: Type.Integer({ description: 'Violations since `after`.' }),
      last_seen: Type.String({ format: 'date-time' }),
      samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'The most recent samples, at most 5.',
      }),
      periods: Type.Array(Type.Object({ start: Type.String({ format: 'date-time' }), count: Type.Integer() }), {
        description: 'Counts by time of arrival, oldest first, without empty periods.',
      }),
    }),
    { description: 'Most frequent rule first.' },
  ),
});
export type ViolationsRecord = Static<typeof violationsSchema>;

export const planTestEventsMax = 1000;

export const planTestSchema = Type.Object({
  events: Type.Array(
    Type.Object({
      event: Type.String({ description: 'Name of the event.' }),
      properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
    { minItems: 1, maxItems: planTestEventsMax, description: 'Events to validate. Nothing is stored or counted.' },
  ),
  plan: Type.Optional(trackingPlanSchema),
});

export const planTestResultSchema = Type.Object({
  violating: Type.Integer({ description: 'Number of events with a violation.' }),
  results: Type.Array(
    Type.Object({
      event: Type.String(),
      outcome: Type.Enum(['stored', ...planPolicies], { description: 'What would happen to the event.' }),
      violations: Type.Array(
        Type.Object({
          property: violationFields.property,
          rule: violationFields.rule,
          policy: Type.Enum([...planPolicies]),
          detail: Type.String({ description: 'What was expected and what was found.' }),
        }),
      ),
    }),
    { description: 'One result for each event, in order.' },
  ),
});
export type PlanTestResult = Static<typeof planTestResultSchema>;

export const planLearnSchema = Type.Object({
  after: Type.Optional(
    Type.String({
      ...stated.time,
      maxLength: 64,
      description: 'Only events from this ISO 8601 time on. Default: the first.',
    }),
  ),
  before: Type.Optional(
    Type.String({ ...stated.time, maxLength: 64, description: 'Only events before this ISO 8601 time.' }),
  ),
  events: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: planLimits.nameCharsMax }), {
      minItems: 1,
      maxItems: 100,
      description: 'Only events with one of these names. `*` matches any characters.',
    }),
  ),
  sample: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: learnLimits.sampleMax,
      default: learnLimits.sampleDefault,
      description: 'Events to sample, about. All are read if there are no more.',
    }),
  ),
  replace: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Whether schemas of events that the plan contains are learned again. Otherwise only missing events and properties are added.',
    }),
  ),
});

export const planLearnResultSchema = Type.Object({
  version: versionFields.version,
  total: Type.Integer({ description: 'Number of stored events that match.' }),
  sampled: Type.Integer({ description: 'Number of events that were read.' }),
  draft: trackingPlanSchema,
  changes: Type.Array(
    Type.Object({
      event: Type.String(),
      property: orNull(Type.String(), 'Null for the event as a whole.'),
      kind: Type.Enum(['added', 'changed', 'removed']),
    }),
    { description: 'How the draft differs from the plan.' },
  ),
  seen: Type.Array(
    Type.Object({
      name: Type.String(),
      count: Type.Integer({ description: 'Sampled events of this name.' }),
      properties: Type.Array(
        Type.Object({
          name: Type.String(),
          share: Type.Number({ description: 'Share of these events that have the property, 0 to 1.' }),
          types: Type.Record(Type.String(), Type.Integer(), { description: 'Number of values of each type.' }),
          values: orNull(
            Type.Array(Type.String()),
            `Every text value. Null if there are more than ${learnLimits.valuesMax}, or longer ones than ${learnLimits.valueCharsMax} characters.`,
          ),
        }),
      ),
    }),
    {
      description: 'What the sample contains, most frequent event first. Names of client libraries (`$…`) are skipped.',
    },
  ),
  left_out: Type.Array(Type.String(), { description: 'Names of events that exceed the limits of a plan.' }),
});
export type PlanLearnResult = Static<typeof planLearnResultSchema>;
