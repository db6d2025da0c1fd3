import { sql } from 'kysely';
import { familiesOf, type Capabilities, type PluginKind, type PluginRecord } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { schemaOf } from '../event-filter.ts';
import { isRowId } from '../configs/stored-plugin.ts';

interface PluginFilter {
  readonly kind?: PluginKind | undefined;
  /** Part of name, slug or description, case-insensitive. */
  readonly search?: string | undefined;
}

/** Lists the plugins available to an organisation, built in and installed, by id. */
export async function listPluginRecords(
  db: Queries,
  organizationId: string,
  filter: PluginFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly records: PluginRecord[] }> {
  const { count } = await filtered(db, organizationId, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  const rows = await selectRecords(filtered(db, organizationId, filter))
    .orderBy('p.id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { count: Number(count), records: rows.map(toRecord) };
}

/** Returns `undefined` for an unknown plugin or one of another organisation. */
export async function findPluginRecord(
  db: Queries,
  id: number,
  organizationId: string,
): Promise<PluginRecord | undefined> {
  if (!isRowId(id)) return undefined;
  const row = await selectRecords(filtered(db, organizationId, {}))
    .where('p.id', '=', id)
    .executeTakeFirst();
  return row === undefined ? undefined : toRecord(row);
}

function filtered(db: Queries, organizationId: string, { kind, search }: PluginFilter) {
  let query = db
    .selectFrom('plugins as p')
    .leftJoin('plugin_versions as v', 'v.id', 'p.latest_version_id')
    .where((eb) => eb.or([eb('p.organization_id', 'is', null), eb('p.organization_id', '=', organizationId)]));
  if (kind !== undefined) {
    const kinds = kind === 'transformation' || kind === 'import-app' ? [kind, 'both'] : [kind];
    query = query.where('p.kind', 'in', kinds);
  }
  if (search === undefined || search === '') return query;
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
  return query.where((eb) =>
    eb.or(
      (['p.name', 'p.slug', 'p.description'] as const).map(
        (column) => sql<boolean>`lower(${eb.ref(column)}) like ${pattern} escape '\\'`,
      ),
    ),
  );
}

/** Excludes the version's code and files, which may be large. */
function selectRecords(query: ReturnType<typeof filtered>) {
  return query
    .select(['p.id', 'p.organization_id', 'p.slug', 'p.name', 'p.description', 'p.kind', 'p.version', 'p.url'])
    .select(['p.config_schema', 'p.public_jobs', 'p.capabilities', 'p.updated_at'])
    .select(['v.source_kind', 'v.source_url', 'v.metrics'])
    .select((eb) => [
      eb
        .selectFrom('plugin_versions as each')
        .select((inner) => inner.fn.countAll<number>().as('versions'))
        .whereRef('each.plugin_id', '=', 'p.id')
        .as('versions'),
      sql<number>`case when ${eb.ref('v.frontend')} is null then 0 else 1 end`.as('has_frontend'),
    ]);
}

function toRecord(row: Awaited<ReturnType<ReturnType<typeof selectRecords>['execute']>>[number]): PluginRecord {
  const capabilities = JSON.parse(row.capabilities) as Capabilities;
  const families = familiesOf(capabilities);
  const isBuiltIn = row.organization_id === null;
  const schema = schemaOf(row.config_schema, { families, isBuiltIn });
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    kind: row.kind,
    families: [...families],
    version: row.version,
    url: row.url,
    config_schema: schema as PluginRecord['config_schema'],
    public_jobs: JSON.parse(row.public_jobs) as Record<string, unknown>,
    capabilities,
    is_built_in: isBuiltIn,
    source_kind: row.source_kind as PluginRecord['source_kind'],
    source_url: row.source_url,
    latest_version: row.version,
    versions: Number(row.versions ?? 0),
    metrics: row.metrics === null ? {} : (JSON.parse(row.metrics) as Record<string, string>),
    has_frontend: Number(row.has_frontend) === 1,
    updated_at: row.updated_at,
  };
}
