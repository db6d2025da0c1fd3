import { applyMaskSql, eraseConditions, eraseSql, forgetSql, markerOf, maskedPartsSql } from './erase-sql.ts';
import type { EraseRows } from './eventstore.ts';

/** Statements on one server, without parameters. */
export interface TableAccess {
  command(sql: string): Promise<void>;
  rows<Row>(sql: string): Promise<Row[]>;
}

/** Removes the rows from all parts of the table; replaced parts are removed later (wait-for-removal.ts). */
export async function eraseTable({ command, rows }: TableAccess, table: string, selected: EraseRows): Promise<void> {
  const conditions = eraseConditions(selected);
  const marker = markerOf(conditions);
  for (const condition of conditions) await command(eraseSql(condition, table, marker));
  const [masked] = await rows<{ parts: string | number }>(maskedPartsSql(table));
  if (Number(masked?.parts) > 0) await command(applyMaskSql(table));
  await command(forgetSql(table, marker));
}
