import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';

export const preflightCheckNames = [
  'settings',
  'target',
  'project_key',
  'personal_key',
  'clock',
  'agreement',
  'retention',
  'staging',
  'store',
  'source',
  'transform',
] as const;
export type PreflightCheckName = (typeof preflightCheckNames)[number];

/** Codes of findings; never reused. */
export const findingCodes = [
  'fine',
  'settings_contradict',
  'target_unreachable',
  'target_busy',
  'target_moved',
  'target_base_path',
  'target_foreign',
  'project_key_missing',
  'project_key_unknown',
  'project_key_unclear',
  'personal_key_missing',
  'personal_key_refused',
  'personal_key_scope',
  'personal_key_project',
  'target_unreadable',
  'clock_off',
  'agreement_missing',
  'agreement_filed',
  'agreement_slower',
  'beyond_retention',
  'staging_full',
  'staging_small',
  'staging_unwritable',
  'store_full',
  'source_failed',
  'source_empty',
  'source_slow',
  'source_busy',
  'source_still_written',
  'source_unreachable',
  'source_extent',
  'source_incomplete',
  'format_unfit',
  'records_unreadable',
  'transform_failed',
  'transform_refused',
  'transform_rejects',
  'transform_drops',
  'transform_unsteady',
  'transform_slow',
  'check_failed',
] as const;
export type FindingCode = (typeof findingCodes)[number];

export const preflightFindingSchema = Type.Object({
  check: Type.Enum([...preflightCheckNames], { description: 'What was checked.' }),
  level: Type.Enum(['problem', 'warning', 'fine'], { description: 'With a `problem`, nothing is fetched or sent.' }),
  code: Type.Enum([...findingCodes]),
  message: Type.String({ description: 'What was expected and what was found.' }),
  advice: orNull(Type.String(), 'What to change. Null if nothing.'),
});
export type PreflightFinding = Static<typeof preflightFindingSchema>;

export const importPreflightSchema = Type.Object({
  verdict: Type.Enum(['passed', 'failed'], { description: '`failed` if at least one finding is a problem.' }),
  took_ms: Type.Integer({ minimum: 0 }),
  findings: Type.Array(preflightFindingSchema, { description: 'Problems first, then warnings, then passed checks.' }),
});
export type PreflightResult = Static<typeof importPreflightSchema>;
