import type { JsonValue } from '../base/json.ts';
import type { FieldType } from '../wire/contract/plugin-fields.ts';

/** One setting of a plugin, as in the published `plugin.json` config schema. */
export interface PluginField {
  readonly key: string;
  readonly name: string;
  readonly type: FieldType;
  readonly default?: JsonValue;
  readonly hint?: string;
  readonly required?: boolean;
  /** Write-only: never shown. */
  readonly secret?: boolean;
  /** For a secret: keys of the settings that determine where it is sent. When one of them changes, it must be given again. */
  readonly sent_to?: readonly string[];
  /** Only for `choice`. */
  readonly choices?: readonly string[];
  /** Only for `number`. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly integer?: boolean;
  readonly order?: number;
  /** Text shown with the field. */
  readonly markdown?: string;
  /** Also required when every condition holds. */
  readonly required_if?: readonly FieldCondition[];
  /** Shown only when every condition holds; a hidden field is not required. */
  readonly visible_if?: readonly FieldCondition[];
}

/** Key of another field and its expected value (`""` means unset); without a value it matches any set value. */
export type FieldCondition = readonly [key: string, value?: JsonValue];

/** Text between the fields; not a setting. */
export interface FieldText {
  readonly markdown: string;
}

/** An entry of a plugin's config schema, in the order shown. */
export type SchemaEntry = PluginField | FieldText;

export function isField(entry: SchemaEntry): entry is PluginField {
  return 'key' in entry;
}

export type SettingValues = Readonly<Record<string, JsonValue>>;

/** Represents a secret that is set. Refused as a value. */
export const secretMask = '**************** POSTHOG SECRET FIELD ****************';

/** The part of a field that makes it a yes/no choice: `{ key, name, ...yesNo('No') }`. */
export function yesNo<Standard extends 'Yes' | 'No'>(standard: Standard) {
  return { type: 'choice', choices: ['Yes', 'No'], default: standard } as const;
}

/** The same with the values of published plugins, whose stored settings stay valid. */
export function trueFalse<Standard extends 'true' | 'false'>(standard: Standard) {
  return { type: 'choice', choices: ['true', 'false'], default: standard } as const;
}
