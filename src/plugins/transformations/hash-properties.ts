import { hash } from 'node:crypto';
import { yesNo } from '../fields.ts';
import { idProperties, replaceIds } from './properties/replace-ids.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { locate, propertyPath, setOwn, type PropertyPath } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

export const hashProperties = defineTransformation({
  slug: 'hash-properties',
  name: 'Hash properties',
  description: 'Replaces properties, and optionally the distinct_id, by the SHA-256 of their text and a salt.',
  alsoKnownAs: [
    'PII Data Hashing',
    'template-pii-hashing',
    'template-hash-properties',
    'Field Anonymization',
    'template-field-anonymization',
  ],
  differences: [
    'The lists have no defaults: only named properties are hashed.',
    'Numbers and objects are hashed too, by their text; the published "Hash properties" skips them.',
    'Ids that refer to a distinct_id ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it, so that persons ' +
      'still merge.',
    "Of the event's own fields only distinct_id can be hashed.",
  ],
  fields: [
    {
      key: 'propertiesToHash',
      name: 'Properties to hash',
      type: 'string',
      hint: 'Comma-separated. Nested properties with dots: $ip, email, $set.phone',
    },
    {
      key: 'hashDistinctId',
      name: 'Hash the distinct_id',
      ...yesNo('No'),
      hint: 'Properties with ids of persons ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it.',
    },
    {
      key: 'salt',
      name: 'Salt',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: 'Random text that is hashed with the values. Without it the e-mail address behind a hash can be guessed.',
    },
    {
      key: 'privateFields',
      name: 'Fields to hash',
      type: 'string',
      hint: 'Comma-separated names; distinct_id means that of the event. For settings taken over from the published plugin.',
    },
    {
      key: 'includeSetProperties',
      name: 'The fields in $set and $set_once too',
      ...yesNo('Yes'),
      hint: 'Only for "Fields to hash".',
    },
  ],
  example: {
    settings: { propertiesToHash: 'email', salt: 'only-an-example' },
    before: { event: 'contact', properties: { email: 'ada@example.com', plan: 'pro' } },
    after: { properties: { email: 'ac65a61caa3baafa4fac347207b11e3f07415c5b71881eac919ad286b81f454c', plan: 'pro' } },
  },
  create(settings) {
    const names = listSetting(settings, 'privateFields');
    const hashesId = yesSetting(settings, 'hashDistinctId') || names.includes('distinct_id');
    const alreadyHashed = new Set<string>(hashesId ? idProperties : []);
    const fieldPaths = pathsOf(names, alreadyHashed);
    const paths = [
      ...fieldPaths,
      ...pathsOf(listSetting(settings, 'propertiesToHash'), new Set([...alreadyHashed, ...names])),
    ];
    if (paths.length === 0 && !hashesId) {
      throw new SettingsError(
        'nothing to hash: give "propertiesToHash" or "privateFields", or choose "hashDistinctId"',
      );
    }
    const salt = textSetting(settings, 'salt');
    const hashText = (text: string): string => hash('sha256', text + salt, 'hex');
    const personPaths = yesSetting(settings, 'includeSetProperties', 'Yes') ? fieldPaths : [];
    return (event) => {
      const { properties } = event;
      hashAt(properties, paths, hashText);
      if (personPaths.length > 0) {
        hashAt(properties['$set'], personPaths, hashText);
        hashAt(properties['$set_once'], personPaths, hashText);
      }
      if (hashesId) replaceIds(event, hashText);
      return event;
    };
  },
});

function pathsOf(names: readonly string[], without: ReadonlySet<string>): PropertyPath[] {
  return names.filter((name) => !without.has(name)).map(propertyPath);
}

function hashAt(
  holder: JsonValue | undefined,
  paths: readonly PropertyPath[],
  hashText: (text: string) => string,
): void {
  if (!isObject(holder)) return;
  for (const path of paths) {
    const place = locate(holder, path);
    if (place === undefined) continue;
    const text = textOf(place.holder, place.key);
    if (text !== '') setOwn(place.holder, place.key, hashText(text));
  }
}

/** Returns an empty text if there is nothing to hash. */
function textOf(holder: JsonObject, key: string): string {
  const value = holder[key];
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
