import { writeActivities } from '../../stores/metadata/activity.ts';
import { entryOf, type Work } from './save-changes.ts';
import type { StoredConfig } from './stored-config.ts';

/** Records in the activity log that stored secrets of configs were used without a change. */
export async function noteUse(
  { tx, actor, now }: Pick<Work, 'tx' | 'actor' | 'now'>,
  configs: readonly StoredConfig[],
  activity: 'previewed' | 'tested' | 'secret_compared',
): Promise<void> {
  const entries = configs.map((config) => entryOf({ now }, config, activity, []));
  await writeActivities(tx, actor, entries);
}
