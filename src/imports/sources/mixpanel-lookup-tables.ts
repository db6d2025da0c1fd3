import { exactNumber } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { readRecords } from '../records/read-records.ts';
import { SourceError, type RecordChunk, type Source, type SourceContext } from '../source.ts';
import { askAgain, readWhole } from './export-api.ts';
import type { ProfileDeps } from './mixpanel-profiles.ts';
import { parsePage } from './parse-page.ts';

const name = 'Mixpanel';
const tableBytesMax = 256 * 1024 * 1024;
const listedMax = 20;

interface LookupTable {
  readonly id: string;
  readonly name: string;
}

interface LookupTableOptions {
  /** Name or number of the table in Mixpanel. */
  readonly wanted: string;
  readonly tempDir: string;
}

/** Returns the rows of a lookup table: a CSV whose first column is the key. */
export function lookupTable(deps: ProfileDeps, { wanted, tempDir }: LookupTableOptions): Source {
  return {
    concurrency: 1,
    listParts: async (_range, context) => {
      const tables = await askAgain(context, () => listTables(deps, context));
      const found = tables.filter((table) => table.id === wanted || table.name === wanted);
      const [table] = found;
      if (table === undefined || found.length > 1) throw new SourceError(notOne(wanted, found.length, tables));
      return [{ key: `lookup table ${table.name}`, stable: false, detail: { id: table.id } }];
    },
    open: ({ detail }, context) => rowsOf(deps, { id: String(detail?.['id']), tempDir }, context),
  };
}

function notOne(wanted: string, count: number, tables: readonly LookupTable[]): string {
  const known = tables.slice(0, listedMax).map((table) => `${table.name} (${table.id})`);
  const list = known.length === 0 ? 'the project has none' : `it has: ${known.join(', ')}`;
  return `${name}: expected one lookup table called "${wanted.slice(0, 100)}", got ${count}; ${list}`;
}

async function listTables(deps: ProfileDeps, context: SourceContext): Promise<readonly LookupTable[]> {
  const { results } = parsePage(await answerOf(deps, '', context), name);
  if (!Array.isArray(results)) throw new SourceError(`${name}: expected a list of lookup tables in results, got none`);
  return (results as readonly unknown[]).filter(isObject).map((each) => ({
    id: exactNumber(each['id']) ?? String(each['id']),
    name: String(each['name']),
  }));
}

async function* rowsOf(
  deps: ProfileDeps,
  { id, tempDir }: { readonly id: string; readonly tempDir: string },
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const query = new URLSearchParams({ 'data-group-id': id });
  const bytes = await askAgain(context, () => answerOf(deps, `download/?${query}`, context));
  yield* readRecords(onlyOf(bytes), { name: `lookup table ${id}.csv`, signal: context.signal, tempDir });
}

async function* onlyOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function answerOf(
  { api, profilesPace, headers, profilesUrl, project }: ProfileDeps,
  path: string,
  context: SourceContext,
): Promise<Buffer> {
  const { project_id: id } = project;
  if (id === undefined) {
    throw new SourceError(`${name}: expected a service account and the project id, which lookup tables require`);
  }
  await profilesPace(context, true);
  const url = `${profilesUrl}/api/app/projects/${encodeURIComponent(id)}/data-definitions/lookup-tables/${path}`;
  return await readWhole(await api.ask({ url, headers }, context.signal), {
    name,
    bytesMax: tableBytesMax,
    signal: context.signal,
  });
}
