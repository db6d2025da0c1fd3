import type { JsonValue } from './plugin.ts';

/** One setting of a plugin, as in the published `plugin.json` config schema. */
export interface PluginField {
  readonly key: string;
  readonly name: string;
  readonly type: 'string' | 'choice' | 'json' | 'attachment';
  readonly default?: JsonValue;
  readonly hint?: string;
  readonly required?: boolean;
  /** Write-only: never shown again. */
  readonly secret?: boolean;
  /** Only for `choice`. */
  readonly choices?: readonly string[];
  readonly order?: number;
}

export type SettingValues = Readonly<Record<string, JsonValue>>;

/** What stands for a secret that is set. Sent back as a value it is refused. */
export const secretMask = '**************** POSTHOG SECRET FIELD ****************';
