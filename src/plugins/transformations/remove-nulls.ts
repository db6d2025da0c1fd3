import { defineTransformation } from '../plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { integerSetting } from '../setting-values.ts';

export const removeNulls = defineTransformation({
  slug: 'remove-nulls',
  name: 'Remove nulls',
  description: 'Removes null properties, including those in nested objects and lists.',
  alsoKnownAs: ['Remove Null Properties', 'template-remove-null-properties'],
  fields: [
    {
      key: 'levels',
      name: 'Levels',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 20,
      default: '3',
      hint: 'Depth of the search, 1 to 20: the properties are level 1, values in them level 2.',
    },
  ],
  example: {
    settings: {},
    before: {
      event: 'paid',
      properties: { coupon: null, amount: 0, items: [1, null], card: { brand: 'visa', country: null } },
    },
    after: { properties: { amount: 0, items: [1], card: { brand: 'visa' } } },
  },
  create(settings) {
    const levels = integerSetting(settings, 'levels', { standard: 3, min: 1, max: 20 });
    return (event) => {
      clean(event.properties, levels);
      return event;
    };
  },
});

/** Cleans in place; `levels` includes this object. */
function clean(holder: JsonObject, levels: number): void {
  for (const key of Object.keys(holder)) {
    const value = holder[key];
    if (value === null) delete holder[key];
    else if (typeof value === 'object' && levels > 1) cleanInner(value, levels - 1);
  }
}

function cleanInner(value: JsonObject | JsonValue[], levels: number): void {
  if (!Array.isArray(value)) {
    clean(value, levels);
    return;
  }
  let kept = 0;
  for (const item of value) {
    if (item === null) continue;
    if (typeof item === 'object' && levels > 1) cleanInner(item, levels - 1);
    value[kept++] = item;
  }
  value.length = kept;
}
