import { isoMicros } from '../../base/clock.ts';
import type { ActivityChange } from '../../wire/contract/activity.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { kindOf, type PluginRecord } from '../../wire/contract/plugins.ts';
import { bumpConfigRevision } from '../../stores/metadata/config-revision.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { writeActivities, type Actor } from '../../stores/metadata/activity.ts';
import { readManifest } from './manifest.ts';
import { findPluginRecord } from './plugin-records.ts';
import type { PreparedPlugin } from './prepare-plugin.ts';
import { slugFor } from './slug.ts';
import { findVersion, insertVersion, latestVersion, sameVersion, type StoredVersion } from './versions.ts';
import { keptIdentity } from '../plugin-address.ts';

/** The context of a change of plugins. `tx` is a transaction; see `beginWork`. */
export interface PluginWork {
  readonly tx: Queries;
  readonly actor: Actor;
  /** ms since the epoch. */
  readonly now: number;
}

/** Texts about a plugin that users enter. */
export interface OwnTexts {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** Stores a plugin that is new to the organisation. Throws ApiError conflict that names the existing one. */
export async function storePlugin(work: PluginWork, prepared: PreparedPlugin, own: OwnTexts): Promise<PluginRecord> {
  const { tx, actor } = work;
  const name = own.name ?? prepared.name;
  await refuseTwin(tx, actor.organizationId, { name, identity: prepared.source.identity });
  const time = isoMicros(work.now);
  const { id } = await tx
    .insertInto('plugins')
    .values({
      organization_id: actor.organizationId,
      slug: await slugFor(tx, name),
      ...columnsOf(prepared),
      name,
      description: own.description ?? prepared.manifest.description,
      version: '',
      created_at: time,
      updated_at: time,
      latest_version_id: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const version = await insertVersion(work, id, prepared);
  await tx
    .updateTable('plugins')
    .set({ latest_version_id: version.id, version: version.version })
    .where('id', '=', id)
    .execute();
  const record = await requireRecord(work, id);
  await logChange(work, 'installed', undefined, record);
  return record;
}

/** Stores a new version and makes it the latest; an existing version only becomes the latest. */
export async function storeUpdate(
  work: PluginWork,
  id: number,
  prepared: PreparedPlugin,
  own: OwnTexts,
): Promise<PluginRecord> {
  const before = await requireInstalled(work, id);
  const version = (await sameVersion(work.tx, id, prepared)) ?? (await insertVersion(work, id, prepared));
  return makeLatest(work, before, version, own, prepared.source.identity);
}

/** Makes a stored version the one that new configs run. Throws ApiError. */
export async function switchVersion(
  work: PluginWork,
  id: number,
  version: string,
  own: OwnTexts,
): Promise<PluginRecord> {
  const before = await requireInstalled(work, id);
  const found = await findVersion(work.tx, id, version);
  if (found !== undefined) return makeLatest(work, before, found, own, null);
  const detail = `"${before.name}" has no version "${version}" here. GET …/plugins/${id}/versions/ lists them.`;
  throw new ApiError('does_not_exist', detail, { attr: 'version' });
}

export async function renamePlugin(work: PluginWork, id: number, own: OwnTexts): Promise<PluginRecord> {
  const before = await requireInstalled(work, id);
  const latest = await latestVersion(work.tx, id);
  return latest === undefined ? before : makeLatest(work, before, latest, own, null);
}

/** Deletes a plugin with all its versions. Throws ApiError conflict that names the configs using it. */
export async function deletePlugin(work: PluginWork, id: number, projectId: number): Promise<void> {
  const before = await requireInstalled(work, id);
  const users = await work.tx
    .selectFrom('plugin_configs')
    .select(['id', 'project_id'])
    .where('plugin_id', '=', id)
    .orderBy('id')
    .execute();
  if (users.length > 0) throw inUse(before, users, projectId);
  await work.tx.updateTable('plugins').set({ latest_version_id: null }).where('id', '=', id).execute();
  await work.tx.deleteFrom('plugin_versions').where('plugin_id', '=', id).execute();
  await work.tx.deleteFrom('plugins').where('id', '=', id).execute();
  await logChange(work, 'uninstalled', before, undefined);
}

function inUse(
  plugin: PluginRecord,
  users: readonly { readonly id: number; readonly project_id: number }[],
  projectId: number,
): ApiError {
  const here = users.filter((user) => user.project_id === projectId).map((user) => user.id);
  const elsewhere = users.length - here.length;
  const parts = [
    ...(here.length > 0 ? [`configs ${here.slice(0, 100).join(', ')} of this project`] : []),
    ...(elsewhere > 0 ? [`${elsewhere} of other projects`] : []),
  ];
  const detail = `"${plugin.name}" is used by ${parts.join(' and ')}, including those in the bin. Delete them first or move them to another plugin.`;
  return new ApiError('conflict', detail);
}

/** Updates the texts from the version's manifest, except those that users entered. */
async function makeLatest(
  work: PluginWork,
  before: PluginRecord,
  version: StoredVersion,
  own: OwnTexts,
  identity: string | null,
): Promise<PluginRecord> {
  const old = await latestVersion(work.tx, before.id);
  const said = old === undefined ? undefined : readManifest(old.texts);
  const says = readManifest(version.texts);
  const name = own.name ?? followed(before.name, said?.name, says.name);
  const description = own.description ?? followed(before.description, said?.description, says.description);
  if (name !== before.name || identity !== null) {
    await refuseTwin(work.tx, work.actor.organizationId, { name, identity }, before.id);
  }
  const { tx } = work;
  await tx
    .updateTable('plugins')
    .set({
      name,
      description,
      url: says.url,
      kind: kindOf(version.capabilities),
      version: version.version,
      ...version.columns,
      latest_version_id: version.id,
    })
    .where('id', '=', before.id)
    .execute();
  const changed = await requireRecord(work, before.id);
  if (JSON.stringify(changed) === JSON.stringify(before)) return before;
  await tx
    .updateTable('plugins')
    .set({ updated_at: isoMicros(work.now) })
    .where('id', '=', before.id)
    .execute();
  const after = await requireRecord(work, before.id);
  await logChange(work, 'updated', before, after);
  // Events contain the plugin's name.
  await bumpConfigRevision(tx);
  return after;
}

function followed(now: string, said: string | undefined, says: string | undefined): string {
  return says !== undefined && (now === said || said === undefined) ? says : now;
}

function columnsOf({ manifest, capabilities }: PreparedPlugin) {
  return {
    kind: kindOf(capabilities),
    url: manifest.url,
    config_schema: JSON.stringify(manifest.schema),
    capabilities: JSON.stringify(capabilities),
    public_jobs: JSON.stringify(manifest.publicJobs),
  };
}

/** @throws ApiError not_found, or invalid_input for a built-in one */
async function requireInstalled(work: PluginWork, id: number): Promise<PluginRecord> {
  const plugin = await requireRecord(work, id);
  if (!plugin.is_built_in) return plugin;
  const detail = `"${plugin.name}" is built in: it changes with the program and cannot be changed or deleted separately.`;
  throw new ApiError('invalid_input', detail);
}

async function requireRecord({ tx, actor }: PluginWork, id: number): Promise<PluginRecord> {
  const plugin = await findPluginRecord(tx, id, actor.organizationId);
  if (plugin === undefined) throw new ApiError('not_found', 'Not found.');
  return plugin;
}

const loggedFields = ['name', 'description', 'kind', 'version', 'source_url', 'url'] as const;

async function logChange(
  work: PluginWork,
  activity: string,
  before: PluginRecord | undefined,
  after: PluginRecord | undefined,
): Promise<void> {
  const record = after ?? before;
  if (record === undefined) return;
  const changes = loggedFields.flatMap((field): ActivityChange[] => {
    const [old, now] = [before?.[field] ?? null, after?.[field] ?? null];
    if (old === now || (old ?? now) === '') return [];
    const action = before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed';
    return [{ field, action, before: old, after: now }];
  });
  const entry = { projectId: null, scope: 'Plugin', itemId: String(record.id), activity, name: record.name } as const;
  await writeActivities(work.tx, work.actor, [{ ...entry, changes, snapshot: record, createdAt: isoMicros(work.now) }]);
}

/**
 * Throws ApiError conflict if the organisation has already installed the same plugin: from the same package, repository or
 * address, or with the same name. `except` is the plugin itself.
 */
async function refuseTwin(
  tx: Queries,
  organizationId: string,
  { name, identity }: { readonly name: string; readonly identity: string | null },
  except?: number,
): Promise<void> {
  const installed = await tx
    .selectFrom('plugins as p')
    .leftJoin('plugin_versions as v', 'v.id', 'p.latest_version_id')
    .select(['p.id', 'p.name', 'p.version', 'v.source_url'])
    .where('p.organization_id', '=', organizationId)
    .execute();
  const twin = installed.find(
    (each) =>
      each.id !== except &&
      (sameName(each.name, name) || (identity !== null && keptIdentity(each.source_url) === identity)),
  );
  if (twin === undefined) return;
  const detail =
    `"${twin.name}" ${twin.version} is already installed as plugin ${twin.id}. ` +
    `To install another version, update it: "millrace plugins upgrade ${twin.id} <path>", or PATCH …/plugins/${twin.id}/.`;
  throw new ApiError('conflict', detail);
}

function sameName(a: string, b: string): boolean {
  return a.trim().toLowerCase() === b.trim().toLowerCase();
}
