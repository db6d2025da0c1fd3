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
  /** Write-only: never shown again. */
  readonly secret?: boolean;
  /** Of a secret: keys of the settings that say where it is sent. When one of them changes, it has to be given again. */
  readonly sent_to?: readonly string[];
  /** Only for `choice`. */
  readonly choices?: readonly string[];
  /** Only for `number`. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly integer?: boolean;
  readonly order?: number;
  /** Text to show with the field. */
  readonly markdown?: string;
  /** Required too when every condition holds. */
  readonly required_if?: readonly FieldCondition[];
  /** Asked for only when every condition holds; a field that nobody is asked for is not required. */
  readonly visible_if?: readonly FieldCondition[];
}

/** Key of another field and the value that it must have (`""`: none); without a value: any but none. */
export type FieldCondition = readonly [key: string, value?: JsonValue];

/** What stands between the fields: text to show, no setting. */
export interface FieldText {
  readonly markdown: string;
}

/** What a plugin's config schema lists, in the order in which it is shown. */
export type SchemaEntry = PluginField | FieldText;

export function isField(entry: SchemaEntry): entry is PluginField {
  return 'key' in entry;
}

export type SettingValues = Readonly<Record<string, JsonValue>>;

/** What stands for a secret that is set. Sent back as a value it is refused. */
export const secretMask = '**************** POSTHOG SECRET FIELD ****************';

/** The part of a field that makes it a question: `{ key, name, ...yesNo('No') }`. */
export function yesNo<Standard extends 'Yes' | 'No'>(standard: Standard) {
  return { type: 'choice', choices: ['Yes', 'No'], default: standard } as const;
}

/** As published plugins ask whose settings are kept as they are. */
export function trueFalse<Standard extends 'true' | 'false'>(standard: Standard) {
  return { type: 'choice', choices: ['true', 'false'], default: standard } as const;
}
