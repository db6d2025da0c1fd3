/** What happens to an event that violates the tracking plan, the mildest first. */
export const planPolicies = ['warn', 'drop', 'dead_letter'] as const;
export type PlanPolicy = (typeof planPolicies)[number];

/** What happens to events or properties that the plan does not contain. */
export const unplannedPolicies = ['allow', ...planPolicies] as const;
export type UnplannedPolicy = (typeof unplannedPolicies)[number];

export const planPolicyMeanings: Readonly<Record<UnplannedPolicy, string>> = {
  allow: 'stored, not counted',
  warn: 'stored and counted as a violation',
  drop: 'counted and not stored',
  dead_letter: 'counted and kept as a dead letter, which can be replayed',
};

/** Limits of a tracking plan. */
export const planLimits = {
  eventsMax: 1000,
  propertiesMax: 300,
  nameCharsMax: 200,
  descriptionCharsMax: 2000,
  /** Allowed values of one property. */
  valuesMax: 500,
  /** Levels of `properties` and `items`. */
  depthMax: 5,
  /** JSON of the schema of one event. */
  schemaBytesMax: 64 * 1024,
  /** JSON of the whole plan. */
  planBytesMax: 1024 * 1024,
} as const;

/** Limits of learning a plan from stored events. */
export const learnLimits = {
  sampleDefault: 100_000,
  sampleMax: 100_000_000,
  /** Different texts of a property up to which they are suggested as allowed values. */
  valuesMax: 20,
  valueCharsMax: 100,
} as const;
