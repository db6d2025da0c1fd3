import { assert } from '../../base/assert.ts';
import { isoMicros } from '../../base/clock.ts';
import type { ActivityChange } from '../../wire/contract/activity.ts';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import type { Database } from '../../stores/metadata/database.ts';
import { bumpConfigRevision, lockConfig } from '../../stores/metadata/config-revision.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { refuseKeeping, SpreadRefusedError } from '../../stores/metadata/spread-project.ts';
import { writeActivities, type Actor, type NewActivity } from '../../stores/metadata/activity.ts';
import { activityOf, changesBetween, changesOfDeletion } from './config-changes.ts';
import { shownName, toRecord } from './config-record.ts';
import type { StoredConfig } from './stored-config.ts';
import type { Trial } from './create-trial.ts';

/** The context of a change of configs. `tx` is a transaction; see `beginWork`. */
export interface Work {
  readonly tx: Queries;
  readonly actor: Actor;
  readonly projectId: number;
  /** ms since the epoch. */
  readonly now: number;
  readonly trial: Trial;
}

export interface Change {
  readonly before: StoredConfig;
  readonly after: StoredConfig;
  /** Overrides the activity derived from the changes. */
  readonly activity?: string;
  /** A change that the fields do not show, for example a started job. */
  readonly extra?: readonly ActivityChange[];
}

/**
 * Must be called first in the transaction: until it ends no other process changes configs or moves one to another plugin, so
 * that values read in it (positions, settings to merge with, users of a plugin) still hold when it writes.
 */
export async function beginWork<W extends Pick<Work, 'tx'>>(work: W): Promise<W> {
  await lockConfig(work.tx);
  return work;
}

/** Writes the configs that differ, with one activity entry each, and notifies the workers. Without changes nothing is written. */
export async function saveChanges(work: Work, changes: readonly Change[]): Promise<StoredConfig[]> {
  const entries: NewActivity[] = [];
  const saved: StoredConfig[] = [];
  for (const { before, after, activity, extra = [] } of changes) {
    const differences = [...changesBetween(before, after), ...extra];
    const touched = differences.length > 0 || before.updatedAt !== after.updatedAt;
    const config = touched ? { ...after, updatedAt: isoMicros(work.now) } : before;
    saved.push(config);
    if (!touched) continue;
    await writeConfig(work.tx, before, config);
    entries.push(entryOf(work, config, activity ?? activityOf(before, config, differences), differences));
  }
  if (entries.length === 0) return saved;
  await refuseKeepingHere(work);
  await writeActivities(work.tx, work.actor, entries);
  await bumpConfigRevision(work.tx);
  return saved;
}

export async function saveChange(work: Work, change: Change): Promise<StoredConfig> {
  const [saved = change.after] = await saveChanges(work, [change]);
  return saved;
}

/** Inserts a new config, which has no id yet, and returns it with one. */
export async function insertConfig(work: Work, config: Omit<StoredConfig, 'id'>): Promise<StoredConfig> {
  const { id } = await work.tx
    .insertInto('plugin_configs')
    .values({ project_id: config.projectId, family: config.family, ...columnsOf(config), created_at: config.createdAt })
    .returning('id')
    .executeTakeFirstOrThrow();
  await refuseKeepingHere(work);
  const created = { ...config, id };
  const changes = changesBetween(undefined, created).filter(({ after }) => after !== '');
  await writeActivities(work.tx, work.actor, [entryOf(work, created, 'created', changes)]);
  await bumpConfigRevision(work.tx);
  return created;
}

async function refuseKeepingHere({ tx, projectId }: Work): Promise<void> {
  try {
    await refuseKeeping(tx, projectId);
  } catch (error) {
    if (!(error instanceof SpreadRefusedError)) throw error;
    throw new ApiError('conflict', error.message, { attr: 'enabled' });
  }
}

/** Tables with rows about a config that no foreign key removes. */
const keptByConfig = [
  'plugin_metrics',
  'plugin_own_metrics',
  'plugin_storage',
  'plugin_logs',
  'plugin_errors',
] as const satisfies readonly (keyof Database)[];

/** Deletes permanently; the last state stays in the activity log. */
export async function deleteConfig(work: Work, config: StoredConfig): Promise<void> {
  // The config is locked first, as in jobs/queue.ts: another order of locks could deadlock.
  await work.tx.deleteFrom('plugin_configs').where('id', '=', config.id).execute();
  await work.tx.deleteFrom('plugin_attachments').where('config_id', '=', config.id).execute();
  for (const table of keptByConfig) await work.tx.deleteFrom(table).where('config_id', '=', config.id).execute();
  await work.tx.deleteFrom('jobs').where('config_id', '=', config.id).where('state', '=', 'queued').execute();
  await writeActivities(work.tx, work.actor, [entryOf(work, config, 'deleted', changesOfDeletion(config))]);
  await bumpConfigRevision(work.tx);
}

/** The state of a config in the activity log; `family` decides which path may show it. */
export interface ConfigSnapshot {
  readonly family: Family;
  readonly record: PluginConfigRecord;
}

/** `now` is in ms. */
export function entryOf(
  { now }: Pick<Work, 'now'>,
  config: StoredConfig,
  activity: string,
  changes: readonly ActivityChange[],
): NewActivity {
  const snapshot: ConfigSnapshot = { family: config.family, record: toRecord(config) };
  return {
    projectId: config.projectId,
    scope: 'PluginConfig',
    itemId: String(config.id),
    activity,
    name: shownName(config),
    changes,
    snapshot,
    createdAt: isoMicros(now),
  };
}

async function writeConfig(tx: Queries, before: StoredConfig, after: StoredConfig): Promise<void> {
  assert(before.id === after.id, 'a change to stay with one config');
  await tx.updateTable('plugin_configs').set(columnsOf(after)).where('id', '=', after.id).execute();
  const kept = new Set(after.attachments.map(({ key }) => key));
  const gone = before.attachments.map(({ key }) => key).filter((key) => !kept.has(key));
  const added = after.attachments.filter((attachment) => attachment.content !== undefined);
  const stale = [...gone, ...added.map(({ key }) => key)];
  if (stale.length > 0) {
    await tx.deleteFrom('plugin_attachments').where('config_id', '=', after.id).where('key', 'in', stale).execute();
  }
  for (const { key, fileName, contentType, size, content } of added) {
    assert(content !== undefined, 'a new attachment to bring its content');
    const row = { config_id: after.id, key, file_name: fileName, content_type: contentType, size, content };
    await tx.insertInto('plugin_attachments').values(row).execute();
  }
}

function columnsOf(config: Omit<StoredConfig, 'id'>) {
  return {
    plugin_id: config.plugin.id,
    plugin_version_id: config.plugin.versionId,
    enabled: config.enabled ? 1 : 0,
    position: config.position,
    name: config.name,
    description: config.description,
    deleted: config.deleted ? 1 : 0,
    settings: JSON.stringify(config.settings),
    error: config.error,
    updated_at: config.updatedAt,
  };
}
