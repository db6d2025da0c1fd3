import { createHash } from 'node:crypto';
import type { EraseRows, QueryParam } from './eventstore.ts';
import { filterConditions, timeConditions } from './filters.ts';

/**
 * SQL that removes rows physically: a mutation writes each part again without them. The engine keeps the text of a mutation in a file
 * until it is forgotten, and has no parameters for it. So the values of clients are in the text as hexadecimal digits, and `forgetSql`
 * removes the text of completed ones.
 */

/** Far below the limits of the engine for a statement (`max_ast_elements`, `eraseTextMax`). */
export const idsPerStatement = 5000;
/** Setting `max_query_size` that these statements need, bytes. */
export const eraseTextMax = 8 * 1024 * 1024;

/** Occurs in the text of a statement, to find it among others. */
const markerForm = /^[0-9a-f]{64}$/;

/** Returns the conditions to delete by, one for each statement. Empty if the selection cannot match any row. */
export function eraseConditions({ projectId, filter }: EraseRows): readonly string[] {
  const { distinctIds, ...others } = filter;
  const rows = filterConditions(projectId, others);
  const time = timeConditions('timestamp', filter.after, filter.before);
  const params = { ...rows.params, ...time.params };
  const common = [...rows.sql, ...time.sql].map((sql) => withValues(sql, params)).join(' AND ');
  if (distinctIds === undefined) return [common];
  const ids = [...new Set(distinctIds)];
  return Array.from({ length: Math.ceil(ids.length / idsPerStatement) }, (_, at) => {
    const some = ids.slice(at * idsPerStatement, (at + 1) * idsPerStatement);
    return `${common} AND distinct_id IN ${textsSql(some)}`;
  });
}

/** Returns a marker of the statements of these conditions, equal in every attempt. */
export function markerOf(conditions: readonly string[]): string {
  return createHash('sha256').update(conditions.join('\n')).digest('hex');
}

export function eraseSql(condition: string, table: string, marker: string): string {
  return `ALTER TABLE ${table} DELETE WHERE ${condition} AND '${checkMarker(marker)}' != '' SETTINGS mutations_sync = 2`;
}

/** Counts parts with rows that are only marked as deleted, as undone runs leave them: their bytes would stay until the next merge. */
export function maskedPartsSql(table: string): string {
  return `SELECT count() AS parts FROM system.parts
WHERE database = currentDatabase() AND table = '${table}' AND active AND has_lightweight_delete`;
}

export function applyMaskSql(table: string): string {
  return `ALTER TABLE ${table} APPLY DELETED MASK SETTINGS mutations_sync = 2`;
}

/** Removes the text of completed deletions with the marker, also of earlier attempts. */
export function forgetSql(table: string, marker: string): string {
  return `KILL MUTATION WHERE database = currentDatabase() AND table = '${table}' AND is_done
  AND position(command, '${checkMarker(marker)}') > 0 SYNC`;
}

function checkMarker(marker: string): string {
  if (markerForm.test(marker)) return marker;
  throw new TypeError(`expected a marker of 64 hexadecimal digits, got ${JSON.stringify(marker)}`);
}

/** Selects parts that were replaced and are not removed yet. */
export function replacedPartsSql(table: string): string {
  return `SELECT name FROM system.parts WHERE database = currentDatabase() AND table = '${table}' AND NOT active`;
}

/** Drops a month that cannot exist, after which the engine removes replaced parts. Otherwise it does so after the next insert. */
export function nudgeSql(table: string): string {
  return `ALTER TABLE ${table} DROP PARTITION ID '000000'`;
}

const placeholder = /\{(\w+):([A-Za-z0-9()]+)\}/g;

function withValues(sql: string, params: Readonly<Record<string, QueryParam>>): string {
  return sql.replace(placeholder, (_, name: string, type: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`expected a value for ${name}, got none`);
    return valueSql(value, type);
  });
}

function valueSql(value: QueryParam, type: string): string {
  if (type === 'String' && typeof value === 'string') return textSql(value);
  if (type === 'Array(String)' && Array.isArray(value)) {
    return textsSql(value.map(String));
  }
  if (type === 'Bool' && typeof value === 'boolean') return String(value);
  if (/^U?Int(32|64)$/.test(type) && /^-?\d+$/.test(String(value))) return `to${type}(${String(value)})`;
  throw new TypeError(`expected a value of the type ${type}, got ${typeof value}`);
}

function textSql(text: string): string {
  return `unhex('${Buffer.from(text, 'utf8').toString('hex')}')`;
}

/** One literal for all of them: the engine needs seconds for thousands. */
function textsSql(texts: readonly string[]): string {
  if (texts.length === 0) return "CAST([], 'Array(String)')";
  const digits = texts.map((text) => Buffer.from(text, 'utf8').toString('hex')).join(',');
  return `arrayMap(each -> unhex(each), splitByChar(',', '${digits}'))`;
}
