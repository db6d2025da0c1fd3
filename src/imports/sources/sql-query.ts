import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import { integerSetting, neededSetting } from '../../plugins/setting-values.ts';

/** Shared by sources that read the rows of a query in parts, which its cursor column splits. */

export interface SqlQuery {
  /** A select, without a semicolon. */
  readonly query: string;
  /** Empty if not set. */
  readonly cursorColumn: string;
}

export interface SplitQuery extends SqlQuery {
  /** Number of values of an integer cursor in one part. */
  readonly partSize: number;
}

export const mappingHint = 'Choose the format mapping to define which column is the event, the person and the time.';

/** Declares the setting of `queryOf`. */
export function queryField(hint: string): PluginField {
  return { key: 'query', name: 'Table or query', type: 'text', required: true, hint };
}

export function cursorField(hint: string, { required = true } = {}): PluginField {
  return { key: 'cursor_column', name: 'Cursor column', type: 'string', ...(required && { required }), hint };
}

export const partSizeField: PluginField = {
  key: 'part_size',
  name: 'Size of a part',
  type: 'number',
  integer: true,
  minimum: 1,
  default: '1000000',
  hint: 'Only for a whole-number cursor: number of values in one part. Times are split by day.',
};

/** Reads the query without a semicolon at its end; one word is a table, which `nameOf` writes as SQL. Throws SettingsError. */
export function queryOf(settings: SettingValues, nameOf = (table: string): string => table): string {
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  return /\s|^(select|with|values)\W/i.test(query) ? query : `select * from ${nameOf(query)}`;
}

/** Throws SettingsError. */
export function splitQueryOf(settings: SettingValues): SplitQuery {
  return {
    query: queryOf(settings),
    cursorColumn: neededSetting(settings, 'cursor_column'),
    partSize: integerSetting(settings, 'part_size', { standard: 1_000_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
}

/** Returns the query as a table of a statement. */
export function rowsOf({ query }: SqlQuery): string {
  return `(\n${query}\n) as source_rows`;
}
