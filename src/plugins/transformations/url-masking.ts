import type { SettingValues } from '../fields.ts';
import { guardedPattern, type GuardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import { propertyPath, readPath, replacePath, type PropertyPath } from './properties/property-path.ts';
import { jsonSetting, textSetting } from '../setting-values.ts';

interface Target {
  readonly path: PropertyPath;
  readonly patterns: readonly GuardedPattern[];
}

export const urlMasking = defineTransformation({
  slug: 'url-masking',
  name: 'URL masking',
  description: 'Masks the values of sensitive parameters in page addresses.',
  alsoKnownAs: ['URL Parameter Masking', 'template-url-masking'],
  differences: [
    'An address that begins with a question mark is masked too, and so are names with percent signs in them.',
    'Nothing is masked for an empty entry of the list; in the published one it stands for every parameter.',
    'An address without such a parameter stays exactly as it is.',
  ],
  fields: [
    {
      key: 'urlProperties',
      name: 'Properties and the parameters to mask in them',
      type: 'json',
      required: true,
      default: { $current_url: 'email, password, token', $referrer: 'email, password, token' },
      hint:
        'JSON object from property (nested with dots) to comma-separated parameters. Each is a regular expression ' +
        'that may stand anywhere in the name, whatever its case: token masks Access_Token too; ^token$ only token.',
    },
    {
      key: 'maskWith',
      name: 'Mask',
      type: 'string',
      required: true,
      default: '[REDACTED]',
      hint: 'Stands in the place of the values.',
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
        const url = readPath(event.properties, path);
        if (typeof url !== 'string' || !url.includes('?')) continue;
        const masked = maskUrl(url, patterns, mask);
        if (masked !== url) replacePath(event.properties, path, masked);
      }
      return event;
    };
  },
});

/** Everything behind the first question mark counts, so that parameters after a # are masked as well. */
function maskUrl(url: string, patterns: readonly GuardedPattern[], mask: string): string {
  const mark = url.indexOf('?') + 1;
  const parameters = url.slice(mark).split('&');
  const masked = parameters.map((parameter) => {
    if (parameter === '') return parameter;
    const equals = parameter.indexOf('=');
    const name = equals === -1 ? parameter : parameter.slice(0, equals);
    return isSensitive(name, patterns) ? `${name}=${mask}` : parameter;
  });
  return url.slice(0, mark) + masked.join('&');
}

function isSensitive(name: string, patterns: readonly GuardedPattern[]): boolean {
  const decoded = decode(name);
  for (const pattern of patterns) {
    if (pattern.test(name) || (decoded !== name && pattern.test(decoded))) return true;
  }
  return false;
}

function decode(name: string): string {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch (error) {
    if (error instanceof URIError) return name;
    throw error;
  }
}

function readTargets(settings: SettingValues): Target[] {
  const given = jsonSetting(settings, 'urlProperties');
  if (!isObject(given) || Object.keys(given).length === 0) {
    throw wrongSetting('urlProperties', 'expected a JSON object from property to parameters');
  }
  return Object.entries(given).map(([property, parameters]) => {
    const patterns = parametersOf(parameters).map((each) => guardedPattern('urlProperties', each, 'i'));
    if (patterns.length > 0) return { path: propertyPath(property), patterns };
    throw wrongSetting('urlProperties', `expected parameters for "${property}", e.g. "email, token"`);
  });
}

function parametersOf(value: JsonValue): string[] {
  const items = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [];
  return items.flatMap((item) => (typeof item === 'string' && item.trim() !== '' ? [item.trim()] : []));
}
