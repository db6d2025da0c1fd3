import { assert } from '../../base/assert.ts';
import type { RunRef } from './eventstore.ts';
import type { SchemaForm } from './schema-form.ts';
import { checkRun } from './sql.ts';

/** `rows` has the events (the default everywhere), `facts` one row per event about persons or groups, with only that information. */
export type RunTable = (typeof runTables)[number];
export const runTables = ['rows', 'facts'] as const;
/** Tables of run-facts.ts. */
export type OrderTable = (typeof orderTables)[number];
export const orderTables = ['components', 'ordered'] as const;
export const allTables = [...runTables, ...orderTables];

export interface RunTableRef {
  readonly run: RunRef;
  readonly table: RunTable | OrderTable;
}

/** Returns a name of letters, digits and `_`, unique per run even if the adapter adds `_local`. */
export function runTableName({ run, table }: RunTableRef): string {
  const { projectId, runId } = checkRun(run);
  assert(
    allTables.some((each) => each === table),
    `a table of a run (${allTables.join(', ')}), got ${table}`,
  );
  return `run_${projectId}_${runId.replaceAll('-', '_')}_${table}`;
}

const nameEnd = `_(?:${allTables.join('|')})(?:_local)?$`;
const tableForm = new RegExp(`^run_(?<project>\\d+)_(?<id>\\w+)${nameEnd}`);
export const tableNamesSql = `SELECT name FROM system.tables
WHERE database = currentDatabase() AND match(name, '^run_[0-9]+_[A-Za-z0-9_]+${nameEnd}')`;

/** Checks whether a table of the store belongs to a run. */
export function isRunTable(name: string): boolean {
  return tableForm.test(name);
}

export function runOfTable(name: string): RunRef | undefined {
  const { project, id } = tableForm.exec(name)?.groups ?? {};
  if (project === undefined || id === undefined) return undefined;
  return { projectId: Number(project), runId: id.replaceAll('_', '-') };
}

export function checkMonth(month: number): number {
  assert(Number.isInteger(month) && month >= 190_001 && month <= 229_912, `a month such as 202403, got ${month}`);
  return month;
}

export function dropSql(table: string, form: SchemaForm): readonly string[] {
  return [...new Set([form.rowsOf(table), table])].map(
    (name) => `DROP TABLE IF EXISTS ${name}${form.everywhere} SYNC SETTINGS max_table_size_to_drop = 0`,
  );
}
