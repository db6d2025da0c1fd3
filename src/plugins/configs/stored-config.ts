import { dayMs, hourMs } from '../../base/time.ts';
import { CompiledQuery, sql, type RawBuilder } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Family } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { SettingValues } from '../fields.ts';
import { isRowId, readPlugin, type PluginColumns, type ReadPlugin, type StoredPlugin } from './stored-plugin.ts';

export interface StoredAttachment {
  readonly key: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly size: number;
  /** Only while a new file is being stored. */
  readonly content?: Uint8Array;
}

/** A config with its plugin and the counts of the last 24 h. `name` and `description` are its own and may be empty. */
export interface StoredConfig {
  readonly id: number;
  readonly projectId: number;
  readonly family: Family;
  readonly enabled: boolean;
  readonly position: number;
  readonly name: string;
  readonly description: string;
  readonly deleted: boolean;
  /** Includes secrets in clear text: never shown, see plugins/mask-secrets.ts. */
  readonly settings: SettingValues;
  /** The error reported by a run; errors that follow from the settings are computed, see config-health.ts. */
  readonly error: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly plugin: StoredPlugin;
  readonly attachments: readonly StoredAttachment[];
  readonly delivered: number;
  readonly failed: number;
}

/** Returns the keys of settings that have a file. */
export function attachedKeys({ attachments }: Pick<StoredConfig, 'attachments'>): ReadonlySet<string> {
  return new Set(attachments.map(({ key }) => key));
}

export interface ConfigPlace {
  readonly projectId: number;
  readonly family: Family;
  /** ms since the epoch; deliveries are counted up to this time. */
  readonly now: number;
}

/** Returns `undefined` if the family has no such config in this project. */
export type FindConfig = (place: ConfigPlace & { readonly id: number }) => Promise<StoredConfig | undefined>;

export function findConfig(db: Queries, place: Parameters<FindConfig>[0]): ReturnType<FindConfig> {
  return createConfigFinder(db)(place);
}

/** For repeated look-ups: the text of the query is compiled once, which takes longer than running it. */
export function createConfigFinder(db: Queries, read?: ReadPlugin): FindConfig {
  const { sql: text } = configsQuery('', sql`where c.id = ${0} and c.project_id = ${0} and c.family = ${''}`).compile(
    db,
  );
  return async ({ id, projectId, family, now }) => {
    if (!isRowId(id)) return undefined;
    const since = sinceOf(now);
    const query = CompiledQuery.raw(text, [since, since, id, projectId, family]) as CompiledQuery<ConfigRow>;
    const { rows } = await db.executeQuery(query);
    return (await withAttachments(db, rows, read))[0];
  };
}

/** Finds a config by id alone, for the service's own work. */
export async function findAnyConfig(db: Queries, id: number, now: number): Promise<StoredConfig | undefined> {
  const { rows } = await configsQuery(sinceOf(now), sql`where c.id = ${id}`).execute(db);
  return (await withAttachments(db, rows))[0];
}

/** Filters that the store can apply. */
export interface ConfigFilter {
  /** Whether in the bin; default false. */
  readonly deleted?: boolean | undefined;
  readonly enabled?: boolean | undefined;
  readonly pluginId?: number | undefined;
}

/** Lists the configs of a family by position, then id; by default without those in the bin. */
export async function listConfigs(
  db: Queries,
  { projectId, family, now }: ConfigPlace,
  page?: { readonly limit: number; readonly offset: number },
  read?: ReadPlugin,
  filter: ConfigFilter = {},
): Promise<StoredConfig[]> {
  const some = page === undefined ? sql`` : sql`limit ${page.limit} offset ${page.offset}`;
  const { deleted = false, enabled, pluginId } = filter;
  const isEnabled = enabled === undefined ? sql`` : sql`and c.enabled = ${enabled ? 1 : 0}`;
  const isOf = pluginId === undefined ? sql`` : sql`and c.plugin_id = ${pluginId}`;
  const listed = sql`
    where c.project_id = ${projectId} and c.family = ${family} and c.deleted = ${deleted ? 1 : 0} ${isEnabled} ${isOf}
    order by c.position, c.id ${some}`;
  const { rows } = await configsQuery(sinceOf(now), listed).execute(db);
  return withAttachments(db, rows, read);
}

/** Lists ids in the order of `listConfigs`. */
export async function listConfigIds(db: Queries, projectId: number, family: Family): Promise<number[]> {
  const rows = await db
    .selectFrom('plugin_configs')
    .select('id')
    .where('project_id', '=', projectId)
    .where('family', '=', family)
    .where('deleted', '=', 0)
    .orderBy('position')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export async function countConfigs(
  db: Queries,
  projectId: number,
  family: Family,
  { deleted = false, enabled, pluginId }: ConfigFilter = {},
): Promise<number> {
  let query = db
    .selectFrom('plugin_configs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .where('family', '=', family)
    .where('deleted', '=', deleted ? 1 : 0);
  if (enabled !== undefined) query = query.where('enabled', '=', enabled ? 1 : 0);
  if (pluginId !== undefined) query = query.where('plugin_id', '=', pluginId);
  const { count } = await query.executeTakeFirstOrThrow();
  return Number(count);
}

interface ConfigRow extends PluginColumns {
  readonly config_id: number;
  readonly project_id: number;
  readonly family: Family;
  readonly enabled: number;
  readonly position: number;
  readonly config_name: string;
  readonly config_description: string;
  readonly deleted: number;
  readonly settings: string;
  readonly error: string;
  readonly config_created_at: string;
  readonly config_updated_at: string;
  /** Text on PostgreSQL; null when nothing was processed. */
  readonly delivered: number | string | null;
  readonly failed: number | string | null;
}

/** Returns the first hour that counts for the delivery rate. */
export function sinceOf(now: number): string {
  return isoMicros(now - dayMs);
}

/** Returns that hour as a number: while it is unchanged, the same hours count. */
export function firstHourOf(now: number): number {
  return Math.ceil((now - dayMs) / hourMs);
}

function configsQuery(since: string, which: RawBuilder<unknown>): RawBuilder<ConfigRow> {
  return sql<ConfigRow>`
    select c.id as config_id, c.project_id, c.family, c.enabled, c.position, c.name as config_name,
      c.description as config_description, c.deleted, c.settings, c.error,
      c.created_at as config_created_at, c.updated_at as config_updated_at,
      p.id, p.slug, p.kind, p.name, p.description, p.url, v.id as version_id,
      coalesce(v.version, p.version) as version,
      coalesce(v.config_schema, p.config_schema) as config_schema,
      coalesce(v.capabilities, p.capabilities) as capabilities,
      coalesce(v.public_jobs, p.public_jobs) as public_jobs,
      (select sum(m.succeeded + m.dropped) from plugin_metrics as m
        where m.config_id = c.id and m.hour >= ${since}) as delivered,
      (select sum(m.failed) from plugin_metrics as m
        where m.config_id = c.id and m.hour >= ${since}) as failed
    from plugin_configs as c
      inner join plugins as p on p.id = c.plugin_id
      left join plugin_versions as v on v.id = c.plugin_version_id
    ${which}`;
}

function toConfig(row: ConfigRow, plugin: StoredPlugin, attachments: readonly StoredAttachment[]): StoredConfig {
  return {
    id: row.config_id,
    projectId: row.project_id,
    family: row.family,
    enabled: row.enabled === 1,
    position: row.position,
    name: row.config_name,
    description: row.config_description,
    deleted: row.deleted === 1,
    settings: JSON.parse(row.settings) as SettingValues,
    error: row.error,
    createdAt: row.config_created_at,
    updatedAt: row.config_updated_at,
    plugin,
    attachments,
    delivered: Number(row.delivered ?? 0),
    failed: Number(row.failed ?? 0),
  };
}

/** Adds attachments with one more query, and only for plugins that accept files. */
async function withAttachments(
  db: Queries,
  rows: readonly ConfigRow[],
  read: ReadPlugin = readPlugin,
): Promise<StoredConfig[]> {
  // Keyed by plugin and version: many configs share few plugins.
  const plugins = new Map<string, StoredPlugin>();
  const found = rows.map((row) => {
    const key = `${row.id}/${row.version_id}`;
    const plugin = plugins.get(key) ?? read(row);
    plugins.set(key, plugin);
    return { row, plugin };
  });
  const ids = found.filter(({ plugin }) => takesFiles(plugin)).map(({ row }) => row.config_id);
  const byConfig = ids.length === 0 ? new Map<number, StoredAttachment[]>() : await loadAttachments(db, ids);
  return found.map(({ row, plugin }) => toConfig(row, plugin, byConfig.get(row.config_id) ?? []));
}

function takesFiles(plugin: StoredPlugin): boolean {
  return plugin.fields.some((field) => field.type === 'attachment');
}

async function loadAttachments(db: Queries, ids: readonly number[]): Promise<Map<number, StoredAttachment[]>> {
  const rows = await db
    .selectFrom('plugin_attachments')
    .select(['config_id', 'key', 'file_name', 'content_type', 'size'])
    .where('config_id', 'in', ids)
    .orderBy('key')
    .execute();
  const byConfig = new Map<number, StoredAttachment[]>();
  for (const row of rows) {
    const list = byConfig.get(row.config_id) ?? [];
    list.push({ key: row.key, fileName: row.file_name, contentType: row.content_type, size: row.size });
    byConfig.set(row.config_id, list);
  }
  return byConfig;
}
