import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

/** Limits of what a project may send, for each lane separately, so that it cannot starve the others. */
const meanings = {
  events_per_second: 'Accepted events per second.',
  bytes_per_second: 'Accepted body bytes per second, as received.',
  backlog_bytes: 'Accepted body bytes that wait until they are stored.',
} as const;

export type ProjectLimitName = keyof typeof meanings;
export const projectLimitNames = Object.keys(meanings) as readonly ProjectLimitName[];

const valueMax = 1_000_000_000_000;
const value = (name: ProjectLimitName, meaning: string) =>
  Type.Integer({ minimum: 0, maximum: valueMax, description: `${meanings[name]} ${meaning}` });
const effective = (name: ProjectLimitName) => value(name, '0 means unlimited.');
const ofProject = (name: ProjectLimitName) =>
  orNull(
    value(name, '0 means unlimited.'),
    `${meanings[name]} 0 means unlimited, null applies the default of the service.`,
  );

/** 0 means unlimited. */
export const limitValuesSchema = Type.Object({
  events_per_second: effective('events_per_second'),
  bytes_per_second: effective('bytes_per_second'),
  backlog_bytes: effective('backlog_bytes'),
});
export type LimitValues = Static<typeof limitValuesSchema>;

const overrides = {
  events_per_second: ofProject('events_per_second'),
  bytes_per_second: ofProject('bytes_per_second'),
  backlog_bytes: ofProject('backlog_bytes'),
};
export const limitOverridesSchema = Type.Object(overrides);
/** What a project has instead of the defaults; null means the default. */
export type LimitOverrides = Static<typeof limitOverridesSchema>;

export const projectLimitsChangeSchema = Type.Partial(limitOverridesSchema);
export type ProjectLimitsChange = Static<typeof projectLimitsChangeSchema>;

export const projectLimitsSchema = Type.Object({
  ...overrides,
  defaults: Type.Object(limitValuesSchema.properties, {
    description: 'Defaults of the service: MILLRACE_PROJECT_EVENTS_PER_SECOND and others.',
  }),
  updated_at: orNull(Type.String({ format: 'date-time' }), 'Time of the last change. Null if they were never changed.'),
});
export type ProjectLimitsRecord = Static<typeof projectLimitsSchema>;

export const noOverrides: LimitOverrides = { events_per_second: null, bytes_per_second: null, backlog_bytes: null };

/** Returns the limits that apply to a project. */
export function applyDefaults(own: LimitOverrides, defaults: LimitValues): LimitValues {
  return {
    events_per_second: own.events_per_second ?? defaults.events_per_second,
    bytes_per_second: own.bytes_per_second ?? defaults.bytes_per_second,
    backlog_bytes: own.backlog_bytes ?? defaults.backlog_bytes,
  };
}
