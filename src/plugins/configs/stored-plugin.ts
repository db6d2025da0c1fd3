import { LRUCache } from 'lru-cache';
import { int32Max } from '../../wire/contract/plugin-configs.ts';
import { familiesOf, type Capabilities, type Family } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { schemaOf } from '../event-filter.ts';
import { isField, type PluginField, type SchemaEntry } from '../fields.ts';
import type { JsonObject } from '../../base/json.ts';

/** A plugin as stored; the plugin of a config has the data of its version. */
export interface StoredPlugin {
  readonly id: number;
  /** The latest version of an installed plugin, or the config's. Null means built in. */
  readonly versionId: number | null;
  readonly slug: string;
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly url: string | null;
  readonly fields: readonly PluginField[];
  /** The fields and the texts between them. */
  readonly schema: readonly SchemaEntry[];
  readonly capabilities: Capabilities;
  readonly publicJobs: JsonObject;
  readonly families: readonly Family[];
  /** `plugin_info` of the records of its configs: JSON. */
  readonly infoText: string;
}

/** The columns of a stored plugin. */
export interface PluginColumns {
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

export type ReadPlugin = (row: PluginColumns) => StoredPlugin;

const keptMax = 1000;

/** Like `readPlugin` with a cache, keyed by all columns, for repeated reads of the same plugins. */
export function createPluginReader(): ReadPlugin {
  const kept = new LRUCache<string, StoredPlugin>({ max: keptMax });
  return (row) => {
    const { slug, kind, name, description, version, url, config_schema, capabilities, public_jobs } = row;
    const texts = [slug, kind, name, description, version, url, config_schema, capabilities, public_jobs];
    const key = [row.id, row.version_id, ...texts].join('\0');
    const known = kept.get(key);
    if (known !== undefined) return known;
    const plugin = readPlugin(row);
    kept.set(key, plugin);
    return plugin;
  };
}

export function readPlugin(row: PluginColumns): StoredPlugin {
  const { id, slug, kind, name, description, version, url } = row;
  const capabilities = JSON.parse(row.capabilities) as Capabilities;
  const families = familiesOf(capabilities);
  const schema = schemaOf(row.config_schema, { families, isBuiltIn: row.version_id === null });
  const publicJobs = JSON.parse(row.public_jobs) as JsonObject;
  const info = { id, name, description, version, kind, capabilities, config_schema: schema, public_jobs: publicJobs };
  return {
    id,
    versionId: row.version_id,
    slug,
    kind,
    name,
    description,
    version,
    url,
    fields: schema.filter(isField),
    schema,
    capabilities,
    publicJobs,
    families,
    infoText: JSON.stringify(info),
  };
}

/** Returns `undefined` for an unknown plugin or one of another organisation. */
export async function findPlugin(db: Queries, id: number, organizationId: string): Promise<StoredPlugin | undefined> {
  if (!isRowId(id)) return undefined;
  const row = await selectPlugins(db, organizationId).where('id', '=', id).executeTakeFirst();
  return row === undefined ? undefined : readPlugin({ ...row, version_id: row.latest_version_id });
}

/** Returns an installed plugin in the given version, otherwise the latest; `undefined` if it does not exist. */
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
  return found === undefined ? undefined : readPlugin({ ...row, ...found });
}

/** PostgreSQL refuses to compare an integer column with a larger value. */
export function isRowId(id: number): boolean {
  return Number.isInteger(id) && id >= 1 && id <= int32Max;
}

function selectPlugins(db: Queries, organizationId: string) {
  return db
    .selectFrom('plugins')
    .selectAll()
    .where((eb) => eb.or([eb('organization_id', 'is', null), eb('organization_id', '=', organizationId)]));
}
