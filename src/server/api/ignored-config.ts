import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';

/** Header of every answer to a change of a config, as OpenAPI describes it. */
export const warningHeader = {
  'X-Warning':
    'Present when the body held a `config` that differs from the record: the field is read-only and was ignored. Names the address ' +
    'that takes settings.',
} as const;

/**
 * Settings have a resource of their own, and a record that was read can be sent back: a `config` in a body changes nothing. Where it
 * says something else than the record, its sender expected a change.
 */
export function ignoredConfigHeaders(
  body: object,
  record: PluginConfigRecord,
  recordUrl: string,
): Record<string, string> {
  const config = 'config' in body ? body.config : undefined;
  if (config === undefined || config === null || textOf(config) === record.config) return {};
  return { 'x-warning': `config is read-only and was ignored; PATCH the settings to ${recordUrl}settings/ instead` };
}

function textOf(config: unknown): string {
  return typeof config === 'string' ? config : JSON.stringify(config);
}
