import type { Queries } from '../../stores/metadata/queries.ts';
import { runColumns, toRun } from './run-rows.ts';
import type { RunFilter } from './run-store.ts';
import type { Run } from './run.ts';

/** Lists runs, newest first. `before` is the last run of the previous page; ids grow with time. */
export async function listRunsBefore(
  db: Queries,
  of: RunFilter,
  { limit, before }: { readonly limit: number; readonly before: string | undefined },
): Promise<Run[]> {
  let query = db.selectFrom('import_runs').select(runColumns).where('project_id', '=', of.projectId);
  if (of.configId !== undefined) query = query.where('config_id', '=', of.configId);
  if (of.source !== undefined) query = query.where('source', '=', of.source);
  if (of.states !== undefined) query = query.where('state', 'in', of.states);
  if (before !== undefined) query = query.where('id', '<', before);
  const rows = await query.orderBy('id', 'desc').limit(limit).execute();
  return rows.map(toRun);
}

/** Returns running runs that wait for something, oldest first. */
export async function runsThatWait(db: Queries, projectId: number): Promise<Run[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select(runColumns)
    .where('project_id', '=', projectId)
    .where('state', '=', 'running')
    .where('waiting', 'is not', null)
    .orderBy('id')
    .execute();
  return rows.map(toRun);
}

export async function countRunsByState(
  db: Queries,
  { projectId, configId, source }: Pick<RunFilter, 'projectId' | 'configId' | 'source'>,
): Promise<Record<string, number>> {
  let query = db
    .selectFrom('import_runs')
    .select(['state', (eb) => eb.fn.countAll<number | string>().as('count')])
    .where('project_id', '=', projectId);
  if (configId !== undefined) query = query.where('config_id', '=', configId);
  if (source !== undefined) query = query.where('source', '=', source);
  const rows = await query.groupBy('state').execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}

/** Returns the names of the runs' configs by id: the config's own name, or its app's. */
export async function namesOfConfigs(
  db: Queries,
  runs: readonly Pick<Run, 'configId'>[],
): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(runs.map(({ configId }) => configId))];
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('plugin_configs as c')
    .innerJoin('plugins as p', 'p.id', 'c.plugin_id')
    .select(['c.id', 'c.name', 'p.name as plugin'])
    .where('c.id', 'in', ids)
    .execute();
  return new Map(rows.map(({ id, name, plugin }) => [id, name === '' ? plugin : name]));
}
