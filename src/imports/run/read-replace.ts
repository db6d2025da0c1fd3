import { SettingsError } from '../../plugins/plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import type { RunOptions } from './run.ts';

const runsMax = 20;

/** Reads the runs to replace from a payload. Throws SettingsError. */
export function readReplace(value: JsonValue | undefined): RunOptions['replace'] {
  if (value === undefined || value === null || value === false) return undefined;
  if (value === true) return true;
  if (Array.isArray(value) && value.length > 0 && value.length <= runsMax && value.every(isId))
    return [...new Set(value)];
  throw new SettingsError(`"replace": expected true, or the ids of 1 to ${runsMax} runs`, { key: 'replace' });
}

function isId(value: JsonValue): value is string {
  return typeof value === 'string' && value !== '';
}
