import type { Capabilities } from '../../contract/plugins.ts';
import type { Queries } from '../../metadata/queries.ts';
import { pluginNameOf } from './manifest.ts';

/** What a worker needs to run a version of an installed plugin. */
export interface Program {
  readonly versionId: number;
  readonly pluginId: number;
  readonly version: string;
  /** As its own plugin.json names it. */
  readonly pluginName: string;
  /** One script for the sandbox; empty: it has nothing to run. */
  readonly code: string;
  /** Of `code`, hex. */
  readonly sha256: string;
  readonly capabilities: Capabilities;
  readonly metrics: Readonly<Record<string, 'sum' | 'min' | 'max'>>;
}

const kept = new WeakMap<Queries, Map<number, Promise<Program | undefined>>>();
/** Most are a few kB, the largest some MB. */
const keptMax = 64;

/**
 * The program of a row of plugin_versions; undefined: it was deleted with its plugin. Ids are never used twice and versions
 * never change, so what was read once is kept.
 */
export async function loadProgram(db: Queries, versionId: number): Promise<Program | undefined> {
  // A transaction lives for one request, and what it sees may still be taken back.
  if (db.isTransaction) return readProgram(db, versionId);
  const programs = kept.get(db) ?? new Map<number, Promise<Program | undefined>>();
  kept.set(db, programs);
  const program = programs.get(versionId) ?? readProgram(db, versionId);
  // The one used longest ago is the first.
  programs.delete(versionId);
  programs.set(versionId, program);
  const [oldest] = programs.keys();
  if (programs.size > keptMax && oldest !== undefined) programs.delete(oldest);
  try {
    const found = await program;
    if (found === undefined) programs.delete(versionId);
    return found;
  } catch (error) {
    programs.delete(versionId);
    throw error;
  }
}

async function readProgram(db: Queries, versionId: number): Promise<Program | undefined> {
  const row = await db
    .selectFrom('plugin_versions as v')
    .innerJoin('plugins as p', 'p.id', 'v.plugin_id')
    .select(['v.id', 'v.plugin_id', 'v.version', 'v.files', 'v.code', 'v.sha256', 'v.capabilities', 'v.metrics'])
    .select('p.name as plugin_name')
    .where('v.id', '=', versionId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const files = new Map(Object.entries(JSON.parse(row.files) as Record<string, string>));
  return {
    versionId: row.id,
    pluginId: row.plugin_id,
    version: row.version,
    pluginName: pluginNameOf(files) ?? row.plugin_name,
    code: row.code,
    sha256: row.sha256,
    capabilities: JSON.parse(row.capabilities) as Capabilities,
    metrics: JSON.parse(row.metrics) as Program['metrics'],
  };
}
