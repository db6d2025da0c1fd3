import type { ActivityScope } from '../../../../src/wire/contract/activity.ts';
import { oneOf, searchOf, text } from '../../search.ts';

// Names only: importing the contract's table would add its schemas to the initial bundle.
export const scopeLabels = {
  PluginConfig: 'Configs',
  Plugin: 'Plugins',
  ImportRun: 'Import runs',
  Project: 'Projects',
  PersonalApiKey: 'Keys',
  User: 'Users',
  HistoricalMigration: 'Agreements',
  NoticeDestination: 'Notifications',
  ProjectLimits: 'Limits',
  RetentionPolicy: 'Retention',
  Erasure: 'Erasures',
  EventReplay: 'Event replays',
  Export: 'Exports',
  DeadLetter: 'Dead letters',
  TrackingPlan: 'Tracking plans',
} as const satisfies Readonly<Record<ActivityScope, string>>;

export const scopes = Object.keys(scopeLabels) as readonly ActivityScope[];

/** Search parameters of the page. */
export const activitySearch = searchOf({
  scope: oneOf(...scopes),
  /** Id of one item of the scope. */
  item: text,
  /** Action, as recorded in the log. */
  activity: text,
  /** Id of the user, or `system`. */
  by: text,
  /** UTC days, inclusive: `2026-01-31`. */
  from: text,
  to: text,
  /** Id of the open entry. */
  entry: text,
});
