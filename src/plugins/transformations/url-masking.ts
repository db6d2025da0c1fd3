import type { SettingValues } from '../fields.ts';
import { guardedPattern, type GuardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import { changeTexts } from './properties/change-texts.ts';
import { maskUrl } from './properties/mask-url.ts';
import { propertyPath, readPath, replacePath, type PropertyPath } from '../property-path.ts';
import { jsonSetting, textSetting } from '../setting-values.ts';

/** Means every property that contains an address, at any depth. */
const everywhere = '*';

interface Target {
  readonly path: PropertyPath | typeof everywhere;
  readonly patterns: readonly GuardedPattern[];
}

export const urlMasking = defineTransformation({
  slug: 'url-masking',
  name: 'URL masking',
  description: 'Masks the values of sensitive parameters, and credentials, in page addresses.',
  alsoKnownAs: ['URL Parameter Masking', 'template-url-masking'],
  differences: [
    'Addresses that begin with a question mark, and parameters with encoded names, are masked too.',
    'An empty entry of the list masks nothing; in the published one it matches every parameter.',
    'By default all properties with addresses are masked; in the published one $current_url and $referrer.',
    'Parameters behind a #, in addresses that are values of parameters, and user:password@ are masked too; lists and objects are searched.',
    'An address without such a parameter stays unchanged.',
  ],
  fields: [
    {
      key: 'urlProperties',
      name: 'Properties and the parameters to mask in them',
      type: 'json',
      required: true,
      default: { '*': 'email, password, token' },
      hint:
        'JSON object from property (nested with dots; * means all that contain addresses, at any depth) to comma-separated parameters. Each is a regular expression ' +
        'matched anywhere in the name and case-insensitively: token masks Access_Token too; ^token$ only token.',
    },
    {
      key: 'maskWith',
      name: 'Mask',
      type: 'string',
      required: true,
      default: '[REDACTED]',
      hint: 'Replaces the values.',
    },
  ],
  example: {
    settings: {},
    before: {
      event: '$pageview',
      properties: { $current_url: 'https://example.com/reset?email=ada@example.com&lang=en' },
    },
    after: { properties: { $current_url: 'https://example.com/reset?email=[REDACTED]&lang=en' } },
  },
  create(settings) {
    const targets = readTargets(settings);
    const mask = textSetting(settings, 'maskWith', '[REDACTED]');
    return (event) => {
      for (const { path, patterns } of targets) {
        const how = { isSensitive: (name: string) => patterns.some((pattern) => pattern.test(name)), mask };
        if (path === everywhere) {
          changeTexts(event.properties, (text) => (looksLikeUrl(text) ? maskUrl(text, how) : text));
          continue;
        }
        const value = readPath(event.properties, path);
        if (value === undefined) continue;
        const masked = changeTexts(value, (text) => maskUrl(text, how));
        if (masked !== value) replacePath(event.properties, path, masked);
      }
      return event;
    };
  },
});

/** Whether a text is an address, or part of one. */
function looksLikeUrl(text: string): boolean {
  return text.includes('://') || /^[/?#]/.test(text);
}

function readTargets(settings: SettingValues): Target[] {
  const given = jsonSetting(settings, 'urlProperties');
  if (!isObject(given) || Object.keys(given).length === 0) {
    throw wrongSetting('urlProperties', 'expected a JSON object from property to parameters');
  }
  return Object.entries(given).map(([property, parameters]) => {
    const patterns = parametersOf(parameters).map((each) => guardedPattern('urlProperties', each, 'i'));
    if (patterns.length > 0) return { path: property === everywhere ? everywhere : propertyPath(property), patterns };
    throw wrongSetting('urlProperties', `expected parameters for "${property}", e.g. "email, token"`);
  });
}

function parametersOf(value: JsonValue): string[] {
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return items.flatMap((item) => (typeof item === 'string' && item.trim() !== '' ? [item.trim()] : []));
}
