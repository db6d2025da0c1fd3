import { defineTransformation, wrongSetting } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { setOwn } from '../property-path.ts';
import { textSetting } from '../setting-values.ts';

/** Events whose nested values would become very many useless properties. */
const skippedEvents = new Set(['$autocapture', 'organization usage report']);
/** Names used by event processing; they are never flattened. */
const skippedNames = new Set([
  '$elements',
  '$elements_chain',
  '$groups',
  '$active_feature_flags',
  '$heatmap_data',
  '$web_vitals_data',
]);
/** Objects with properties: values in them are flattened inside them. */
const propertyHolders = ['$set', '$set_once', '$group_set'] as const;
/** An event of one megabyte could otherwise produce gigabytes of names. */
const addedMax = 10_000;
const nameLengthMax = 1000;

export const propertyFlattener = defineTransformation({
  slug: 'property-flattener',
  name: 'Property flattener',
  description:
    'Adds each value inside nested objects and lists as a separate property, so that it can be used in filters.',
  alsoKnownAs: [
    'Property Flattener Plugin',
    'Flatten Properties',
    'flatten-properties-plugin',
    'plugin-flatten-properties-plugin',
    'template-flatten-properties',
  ],
  differences: [
    '$set, $set_once and $group_set are special only at the top level of the event; in the published one a ' +
      "deeper one replaces the event's.",
    `At most ${addedMax} properties are added to an event, and none whose name would exceed ${nameLengthMax} characters.`,
  ],
  fields: [
    {
      key: 'separator',
      name: 'Separator',
      type: 'choice',
      choices: ['__', '.', '>', '/'],
      default: '__',
      required: true,
      hint: 'With __ the value of b in a: {b: 1} becomes the property a__b.',
    },
  ],
  example: {
    settings: {},
    before: {
      event: 'paid',
      properties: { card: { brand: 'visa', limits: [10, 20] }, $set: { address: { city: 'Bern' } } },
    },
    after: {
      properties: {
        card: { brand: 'visa', limits: [10, 20] },
        card__brand: 'visa',
        card__limits__0: 10,
        card__limits__1: 20,
        $set: { address: { city: 'Bern' }, address__city: 'Bern' },
      },
    },
  },
  create(settings) {
    const separator = textSetting(settings, 'separator', '__');
    if (separator.length > 10) throw wrongSetting('separator', 'expected at most 10 characters');
    return (event) => {
      if (skippedEvents.has(event.event)) return event;
      const { properties } = event;
      const quota = { left: addedMax };
      flatten(properties, separator, quota, true);
      for (const name of propertyHolders) {
        const holder = Object.hasOwn(properties, name) ? properties[name] : undefined;
        if (isObject(holder)) flatten(holder, separator, quota, false);
      }
      return event;
    };
  },
});

/** The number of properties that may still be added. */
interface Quota {
  left: number;
}

function flatten(holder: JsonObject, separator: string, quota: Quota, ofEvent: boolean): void {
  // Only the original keys: added values contain nothing to flatten.
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (typeof value !== 'object' || value === null || skippedNames.has(key)) continue;
    if (ofEvent && (key === '$set' || key === '$set_once' || key === '$group_set')) continue;
    add(holder, key + separator, value, separator, quota);
  }
}

function add(
  target: JsonObject,
  prefix: string,
  inner: JsonObject | JsonValue[],
  separator: string,
  quota: Quota,
): void {
  if (prefix.length > nameLengthMax) return;
  for (const key of Object.keys(inner)) {
    if (quota.left <= 0) return;
    if (skippedNames.has(key)) continue;
    const value = Array.isArray(inner) ? inner[Number(key)] : inner[key];
    if (value === undefined) continue;
    const name = prefix + key;
    if (typeof value === 'object' && value !== null && !isEmptyObject(value)) {
      add(target, name + separator, value, separator, quota);
    } else if (name.length <= nameLengthMax) {
      setOwn(target, name, value);
      quota.left--;
    }
  }
}

/** An empty object is kept as a value; an empty list adds nothing. */
function isEmptyObject(value: JsonObject | JsonValue[]): boolean {
  if (Array.isArray(value)) return false;
  for (const _key in value) return false;
  return true;
}
