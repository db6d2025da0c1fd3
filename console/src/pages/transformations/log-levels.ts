import type { PluginLogRecord } from '../../../../src/wire/contract/plugin-view.ts';

/** Of the lines in a plugin's log. */
export const pluginLogLevels = [
  'DEBUG',
  'LOG',
  'INFO',
  'WARN',
  'ERROR',
] as const satisfies readonly PluginLogRecord['level'][];
