import { LRUCache } from 'lru-cache';
import type { Capabilities } from '../../wire/contract/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { pluginNameOf } from './manifest.ts';

/** A version of an installed plugin as a worker runs it. */
export interface Program {
  readonly versionId: number;
  readonly pluginId: number;
  readonly version: string;
  /** The name in its plugin.json. */
  readonly pluginName: string;
  /** One script for the sandbox; empty if there is nothing to run. */
  readonly code: string;
  /** Of `code`, hex. */
  readonly sha256: string;
  readonly capabilities: Capabilities;
  readonly metrics: Readonly<Record<string, 'sum' | 'min' | 'max'>>;
}

/** Loads the program of an installed version; `undefined` if it was deleted with its plugin. */
type LoadProgram = (versionId: number) => Promise<Program | undefined>;

/** Most are a few kB, the largest several MB. */
const keptMax = 64;

/** Loads programs of rows of plugin_versions and caches them: ids are never reused and versions never change. */
export function createProgramLoader(db: Queries): LoadProgram {
  const kept = new LRUCache<number, Program>({ max: keptMax, fetchMethod: (versionId) => readProgram(db, versionId) });
  return (versionId) => kept.fetch(versionId);
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
