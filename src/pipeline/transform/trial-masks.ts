import type { JsonValue } from '../../base/json.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import { secretMask } from '../../plugins/fields.ts';
import { secretTexts, withoutSecrets } from '../../plugins/mask-secrets.ts';
import type { Difference } from './diff-json.ts';
import type { StepConfig } from './make-step.ts';
import type { TrialEvent } from './trial-event.ts';

/** What a trial shows, without the secrets of the configs that ran. */

/** For what a plugin says of itself: logs, errors, what it would store. */
export function maskOf({ fields, settings }: StepConfig): (text: string) => string {
  const values = withDefaults(fields, settings);
  return (text) => withoutSecrets(text, fields, values);
}

/** For events: the secret of one config may be in what comes out of a later one. Without secrets everything is shown as it is. */
export function maskShown(configs: readonly StepConfig[]): {
  readonly hideEvent: (event: TrialEvent) => TrialEvent;
  readonly hideDiff: (diff: readonly Difference[]) => readonly Difference[];
} {
  const secrets = configs.flatMap(({ fields, settings }) => secretTexts(fields, withDefaults(fields, settings)));
  if (secrets.length === 0) return { hideEvent: (event) => event, hideDiff: (diff) => diff };
  const hide = (text: string): string => secrets.reduce((safe, secret) => safe.replaceAll(secret, secretMask), text);
  const hideAll = <T extends JsonValue>(value: T): T => maskTexts(value, hide) as T;
  return {
    hideEvent: (event) => hideAll(event),
    hideDiff: (diff) => diff.map((each) => hideAll({ ...each }) as Difference),
  };
}

export function maskTexts(value: JsonValue, mask: (text: string) => string): JsonValue {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((each) => maskTexts(each, mask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskTexts(each, mask)]));
}
