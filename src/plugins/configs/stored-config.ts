import { dayMs } from '../../base/time.ts';
import { sql, type CompiledQuery } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { int32Max } from '../../contract/plugin-configs.ts';
import { familiesOf, type Capabilities, type Family } from '../../contract/plugins.ts';
import type { Queries } from '../../metadata/queries.ts';
import { isField, type PluginField, type SchemaEntry, type SettingValues } from '../fields.ts';
import type { JsonObject } from '../../base/json.ts';

/** As it is; the plugin of a config is as its version is. */
export interface StoredPlugin {
  readonly id: number;
  /** Of an installed plugin: the latest one, or the config's. Null: built in. */
  readonly versionId: number | null;
  readonly slug: string;
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly url: string | null;
  readonly fields: readonly PluginField[];
  /** The fields and what is to be shown between them. */
  readonly schema: readonly SchemaEntry[];
  readonly capabilities: Capabilities;
  readonly publicJobs: JsonObject;
  readonly families: readonly Family[];
}

export interface StoredAttachment {
  readonly key: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly size: number;
  /** Only while a new file is on its way into the store. */
  readonly content?: Uint8Array;
}

/** A config with its plugin and what passed through it in the last 24 h. `name` and `description` are its own, perhaps empty. */
export interface StoredConfig {
  readonly id: number;
  readonly projectId: number;
  readonly family: Family;
  readonly enabled: boolean;
  readonly position: number;
  readonly name: string;
  readonly description: string;
  readonly deleted: boolean;
  /** Secrets in clear: never shown, see plugins/mask-secrets.ts. */
  readonly settings: SettingValues;
  /** Trouble reported by a run; what follows from the settings is computed, see health.ts. */
  readonly error: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly plugin: StoredPlugin;
  readonly attachments: readonly StoredAttachment[];
  readonly delivered: number;
  readonly failed: number;
}

/** Keys of the settings that have a file. */
export function attachedKeys({ attachments }: Pick<StoredConfig, 'attachments'>): ReadonlySet<string> {
  return new Set(attachments.map(({ key }) => key));
}

/** Undefined when the family has no such config in this project. `now` in ms. */
export async function findConfig(
  db: Queries,
  at: { readonly projectId: number; readonly family: Family; readonly id: number; readonly now: number },
): Promise<StoredConfig | undefined> {
  if (!isRowId(at.id)) return undefined;
  const { rows } = await db.executeQuery(findQuery(db, at));
  return (await withAttachments(db, rows))[0];
}

/** The query of `findConfig` by store, with marks where its values belong. */
const findQueries = new WeakMap<Queries, CompiledQuery<ConfigRow>>();

/** Making the text of this query costs ten times as much as running it, and every retrieve runs it: it is made once. */
function findQuery(
  db: Queries,
  at: { readonly projectId: number; readonly family: Family; readonly id: number; readonly now: number },
): CompiledQuery<ConfigRow> {
  const compile = (since: string, id: number, projectId: number, family: Family): CompiledQuery<ConfigRow> =>
    selectConfigs(db, since)
      .where('c.id', '=', id)
      .where('c.project_id', '=', projectId)
      .where('c.family', '=', family)
      .compile();
  const since = sinceOf(at.now);
  // A transaction lives for one request: nothing to gain.
  if (db.isTransaction) return compile(since, at.id, at.projectId, at.family);
  const marked = findQueries.get(db) ?? compile('since', -1, -2, 'transformation');
  findQueries.set(db, marked);
  const values = new Map<unknown, unknown>([
    ['since', since],
    [-1, at.id],
    [-2, at.projectId],
    ['transformation', at.family],
  ]);
  return { ...marked, parameters: marked.parameters.map((mark) => values.get(mark)) };
}

/** By id alone, for the service's own work. */
export async function findAnyConfig(db: Queries, id: number, now: number): Promise<StoredConfig | undefined> {
  const row = await selectConfigs(db, sinceOf(now)).where('c.id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : (await withAttachments(db, [row]))[0];
}

/** Configs of a family that are not in the bin, by position, then id. */
export async function listConfigs(
  db: Queries,
  of: { readonly projectId: number; readonly family: Family; readonly now: number },
  page?: { readonly limit: number; readonly offset: number },
): Promise<StoredConfig[]> {
  const all = selectConfigs(db, sinceOf(of.now))
    .where('c.project_id', '=', of.projectId)
    .where('c.family', '=', of.family)
    .where('c.deleted', '=', 0)
    .orderBy('c.position')
    .orderBy('c.id');
  const rows = await (page === undefined ? all : all.limit(page.limit).offset(page.offset)).execute();
  return withAttachments(db, rows);
}

export async function countConfigs(db: Queries, projectId: number, family: Family): Promise<number> {
  const { count } = await db
    .selectFrom('plugin_configs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .where('family', '=', family)
    .where('deleted', '=', 0)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Undefined when there is none or it belongs to another organisation. */
export async function findPlugin(db: Queries, id: number, organizationId: string): Promise<StoredPlugin | undefined> {
  if (!isRowId(id)) return undefined;
  const row = await selectPlugins(db, organizationId).where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : toPlugin({ ...row, version_id: row.latest_version_id });
}

/** An installed plugin as one of its versions is: the one named, else the latest. Undefined: there is none. */
export async function findPluginVersion(
  db: Queries,
  of: { readonly id: number; readonly organizationId: string; readonly version?: string | undefined },
): Promise<StoredPlugin | undefined> {
  const row = await selectPlugins(db, of.organizationId).where('id', '=', of.id).executeTakeFirst();
  if (row === undefined || row.latest_version_id === null) return undefined;
  const versions = db
    .selectFrom('plugin_versions')
    .select(['id as version_id', 'version', 'config_schema', 'capabilities', 'public_jobs'])
    .where('plugin_id', '=', of.id);
  const { version } = of;
  const one =
    version === undefined ? versions.where('id', '=', row.latest_version_id) : versions.where('version', '=', version);
  const found = await one.executeTakeFirst();
  return found === undefined ? undefined : toPlugin({ ...row, ...found });
}

/** PostgreSQL refuses to compare an integer column with more. */
export function isRowId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id <= int32Max;
}

function selectPlugins(db: Queries, organizationId: string) {
  return db
    .selectFrom('plugins')
    .selectAll()
    .where((eb) => eb.or([eb('organization_id', 'is', null), eb('organization_id', '=', organizationId)]));
}

/** Hours that count for the delivery rate. */
function sinceOf(now: number): string {
  return isoMicros(now - dayMs);
}

function selectConfigs(db: Queries, since: string) {
  return db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .leftJoin('plugin_versions as v', 'v.id', 'c.plugin_version_id')
    .select([
      'c.id as config_id',
      'c.project_id',
      'c.family',
      'c.enabled',
      'c.position',
      'c.name as config_name',
      'c.description as config_description',
      'c.deleted',
      'c.settings',
      'c.error',
      'c.created_at as config_created_at',
      'c.updated_at as config_updated_at',
      'p.id',
      'p.slug',
      'p.kind',
      'p.name',
      'p.description',
      'p.url',
      'v.id as version_id',
    ])
    .select((eb) => [
      eb.fn.coalesce('v.version', 'p.version').as('version'),
      eb.fn.coalesce('v.config_schema', 'p.config_schema').as('config_schema'),
      eb.fn.coalesce('v.capabilities', 'p.capabilities').as('capabilities'),
      eb.fn.coalesce('v.public_jobs', 'p.public_jobs').as('public_jobs'),
      eb
        .selectFrom('plugin_metrics as m')
        .select(sql<number>`sum(m.succeeded + m.dropped)`.as('delivered'))
        .whereRef('m.config_id', '=', 'c.id')
        .where('m.hour', '>=', since)
        .as('delivered'),
      eb
        .selectFrom('plugin_metrics as m')
        .select(sql<number>`sum(m.failed)`.as('failed'))
        .whereRef('m.config_id', '=', 'c.id')
        .where('m.hour', '>=', since)
        .as('failed'),
    ]);
}

interface PluginColumns {
  readonly id: number;
  readonly version_id: number | null;
  readonly slug: string;
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly url: string | null;
  readonly config_schema: string;
  readonly capabilities: string;
  readonly public_jobs: string;
}

type ConfigRow = Awaited<ReturnType<ReturnType<typeof selectConfigs>['execute']>>[number];

/** Plugins as read before, by everything that a row holds: the same text is parsed once, not once a request. */
const parsedPlugins = new Map<string, StoredPlugin>();
const parsedPluginsMax = 1000;

function toPlugin(row: PluginColumns): StoredPlugin {
  const { id, version_id, slug, kind, name, description, version, url } = row;
  const { config_schema, capabilities, public_jobs } = row;
  const text = [slug, kind, name, description, version, url, config_schema, capabilities, public_jobs];
  const key = [id, version_id, ...text].join('\0');
  const known = parsedPlugins.get(key);
  if (known !== undefined) return known;
  const plugin = parsePlugin(row);
  if (parsedPlugins.size >= parsedPluginsMax) parsedPlugins.clear();
  parsedPlugins.set(key, plugin);
  return plugin;
}

function parsePlugin(row: PluginColumns): StoredPlugin {
  const capabilities = JSON.parse(row.capabilities) as Capabilities;
  const schema = JSON.parse(row.config_schema) as SchemaEntry[];
  return {
    id: row.id,
    versionId: row.version_id,
    slug: row.slug,
    kind: row.kind,
    name: row.name,
    description: row.description,
    version: row.version,
    url: row.url,
    fields: schema.filter(isField),
    schema,
    capabilities,
    publicJobs: JSON.parse(row.public_jobs) as JsonObject,
    families: familiesOf(capabilities),
  };
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

/** One more query, and only for plugins that take files. */
async function withAttachments(db: Queries, rows: readonly ConfigRow[]): Promise<StoredConfig[]> {
  // By plugin and version: many configs of few plugins.
  const plugins = new Map<string, StoredPlugin>();
  const found = rows.map((row) => {
    const key = `${row.id}/${row.version_id}`;
    const plugin = plugins.get(key) ?? toPlugin(row);
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
