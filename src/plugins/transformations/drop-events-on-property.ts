import { defineTransformation, wrongSetting } from '../plugin.ts';
import { conditionOn } from '../property-conditions.ts';
import { listSetting, textSetting } from '../setting-values.ts';

export const dropEventsOnProperty = defineTransformation({
  slug: 'drop-events-on-property',
  name: 'Drop events on property',
  description: 'Drops events that have a given property, or a given value of it. "Drop events" offers more conditions.',
  alsoKnownAs: [
    'Drop Events Based On Property',
    'drop-events-on-property-plugin',
    'plugin-drop-events-on-property-plugin',
  ],
  differences: [
    'A number or a boolean matches its text: 5 matches "5". The published one compares only text.',
    'Spaces around commas are ignored, and dots select nested properties.',
  ],
  fields: [
    {
      key: 'property_key',
      name: 'Property key to filter on',
      type: 'string',
      required: true,
      hint: 'Without a value, every event that has this property is dropped. Nested properties with dots.',
    },
    {
      key: 'property_values',
      name: 'Property value to filter on',
      type: 'string',
      hint: 'Comma-separated. Only events whose property has one of these values are dropped.',
    },
  ],
  example: {
    settings: { property_key: 'plan', property_values: 'test, internal' },
    before: { event: 'signed up', properties: { plan: 'internal' } },
    after: null,
  },
  create(settings) {
    const key = textSetting(settings, 'property_key').trim();
    if (key === '') throw wrongSetting('property_key', 'expected the name of a property');
    const values = new Set(listSetting(settings, 'property_values'));
    // Empty values (false, 0, "") never drop, as in the published plugin.
    const drops = conditionOn(key, (value) => {
      if (!value) return false;
      return values.size === 0 || (typeof value !== 'object' && values.has(String(value)));
    });
    return (event) => (drops(event.properties) ? null : event);
  },
});
