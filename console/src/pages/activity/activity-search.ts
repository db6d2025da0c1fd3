import type { ActivityScope } from '../../../../src/wire/contract/activity.ts';
import { oneOf, searchOf, text } from '../../search.ts';

// The names only: the contract's own table would bring its schemas into the first load.
export const scopeLabels = {
  PluginConfig: 'Configs',
  Plugin: 'Plugins',
  ImportRun: 'Import runs',
  Project: 'Projects',
  PersonalApiKey: 'Keys',
  User: 'Users',
  HistoricalMigration: 'Agreements',
  NoticeDestination: 'Notices',
  DeadLetter: 'Dead letters',
} as const satisfies Readonly<Record<ActivityScope, string>>;

export const scopes = Object.keys(scopeLabels) as readonly ActivityScope[];

/** What the address of the page holds beside its path. */
export const activitySearch = searchOf({
  scope: oneOf(...scopes),
  /** Id of one item of the scope. */
  item: text,
  /** What happened, as the log says it. */
  activity: text,
  /** Id of the user who did it, or `system`. */
  by: text,
  /** Days of UTC, the last one included: `2026-01-31`. */
  from: text,
  to: text,
  /** Id of the entry whose details are open. */
  entry: text,
});
