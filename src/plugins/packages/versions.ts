import { isoMicros } from '../../base/clock.ts';
import type { Capabilities, PluginSourceKind, PluginVersionRecord } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Actor } from '../../stores/metadata/activity.ts';
import type { TextFiles } from './manifest.ts';
import type { PreparedPlugin } from './prepare-plugin.ts';

export interface StoredVersion {
  readonly id: number;
  readonly version: string;
  readonly capabilities: Capabilities;
  readonly texts: TextFiles;
  /** As stored. */
  readonly columns: { readonly config_schema: string; readonly capabilities: string; readonly public_jobs: string };
}

/** Inserts a version; its name is the stated one, made unique if another version has it: `1.0.0+2`. */
export async function insertVersion(
  { tx, actor, now }: { readonly tx: Queries; readonly actor: Actor; readonly now: number },
  pluginId: number,
  prepared: PreparedPlugin,
): Promise<StoredVersion> {
  const version = await versionName(tx, pluginId, prepared.version);
  const columns = {
    config_schema: JSON.stringify(prepared.manifest.schema),
    capabilities: JSON.stringify(prepared.capabilities),
    public_jobs: JSON.stringify(prepared.manifest.publicJobs),
  };
  const { id } = await tx
    .insertInto('plugin_versions')
    .values({
      plugin_id: pluginId,
      version,
      source_kind: prepared.source.sourceKind,
      source_url: prepared.source.sourceUrl,
      files: JSON.stringify(prepared.files),
      code: prepared.code,
      frontend: prepared.frontend,
      ...columns,
      metrics: JSON.stringify(prepared.metrics),
      sha256: prepared.sha256,
      created_at: isoMicros(now),
      created_by: actor.userId,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, version, capabilities: prepared.capabilities, texts: new Map(Object.entries(prepared.files)), columns };
}

async function versionName(tx: Queries, pluginId: number, stated: string | undefined): Promise<string> {
  const rows = await tx.selectFrom('plugin_versions').select('version').where('plugin_id', '=', pluginId).execute();
  const taken = new Set(rows.map(({ version }) => version));
  const nameOf = (number: number): string => {
    if (stated === undefined) return String(number);
    return number === 1 ? stated : `${stated}+${number}`;
  };
  for (let number = 1; ; number++) if (!taken.has(nameOf(number))) return nameOf(number);
}

/** Returns the version built from exactly the same files, if any. */
export async function sameVersion(
  tx: Queries,
  pluginId: number,
  prepared: PreparedPlugin,
): Promise<StoredVersion | undefined> {
  const row = await selectVersions(tx, pluginId)
    .where('sha256', '=', prepared.sha256)
    .where('files', '=', JSON.stringify(prepared.files))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : toVersion(row);
}

export async function findVersion(tx: Queries, pluginId: number, version: string): Promise<StoredVersion | undefined> {
  const row = await selectVersions(tx, pluginId).where('version', '=', version).executeTakeFirst();
  return row === undefined ? undefined : toVersion(row);
}

/** Returns the version of an installed plugin that new configs run. */
export async function latestVersion(tx: Queries, pluginId: number): Promise<StoredVersion | undefined> {
  const latest = tx.selectFrom('plugins').select('latest_version_id').where('id', '=', pluginId);
  const row = await selectVersions(tx, pluginId).where('id', '=', latest).executeTakeFirst();
  return row === undefined ? undefined : toVersion(row);
}

function selectVersions(tx: Queries, pluginId: number) {
  return tx
    .selectFrom('plugin_versions')
    .select(['id', 'version', 'files', 'config_schema', 'capabilities', 'public_jobs'])
    .where('plugin_id', '=', pluginId);
}

function toVersion(row: Awaited<ReturnType<ReturnType<typeof selectVersions>['execute']>>[number]): StoredVersion {
  const { id, version, files, ...columns } = row;
  return {
    id,
    version,
    capabilities: JSON.parse(columns.capabilities) as Capabilities,
    texts: new Map(Object.entries(JSON.parse(files) as Record<string, string>)),
    columns,
  };
}

/** Lists versions, newest first; `configs` counts those of the project. */
export async function listVersions(
  db: Queries,
  of: { readonly pluginId: number; readonly projectId: number },
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly versions: PluginVersionRecord[] }> {
  const { count } = await db
    .selectFrom('plugin_versions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('plugin_id', '=', of.pluginId)
    .executeTakeFirstOrThrow();
  const rows = await db
    .selectFrom('plugin_versions as v')
    .innerJoin('plugins as p', 'p.id', 'v.plugin_id')
    .select(['v.id', 'v.version', 'v.source_kind', 'v.source_url', 'v.capabilities', 'v.sha256', 'v.created_at'])
    .select('p.latest_version_id')
    .select((eb) =>
      eb
        .selectFrom('plugin_configs as c')
        .select((inner) => inner.fn.countAll<number>().as('configs'))
        .whereRef('c.plugin_version_id', '=', 'v.id')
        .where('c.plugin_id', '=', of.pluginId)
        .where('c.project_id', '=', of.projectId)
        .as('configs'),
    )
    .where('v.plugin_id', '=', of.pluginId)
    .orderBy('v.id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  const versions = rows.map((row) => ({
    version: row.version,
    is_latest: row.id === row.latest_version_id,
    source_kind: row.source_kind as PluginSourceKind,
    source_url: row.source_url,
    capabilities: JSON.parse(row.capabilities) as Capabilities,
    configs: Number(row.configs ?? 0),
    sha256: row.sha256,
    created_at: row.created_at,
  }));
  return { count: Number(count), versions };
}

/** Returns the front-end module of a version; null if it has none or does not exist. */
export async function frontendModule(db: Queries, versionId: number): Promise<string | null> {
  const row = await db.selectFrom('plugin_versions').select('frontend').where('id', '=', versionId).executeTakeFirst();
  return row?.frontend ?? null;
}
