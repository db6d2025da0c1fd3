import { combineConditions, operatorNames, readConditions } from '../property-conditions.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { jsonSetting, listSetting, textSetting } from '../setting-values.ts';

export const dropEvents = defineTransformation({
  slug: 'drop-events',
  name: 'Drop events',
  description: 'Drops events by name, by property, or by both. Dropped events are counted and never stored.',
  alsoKnownAs: ['template-drop-events'],
  fields: [
    {
      key: 'events',
      name: 'Event names',
      type: 'string',
      hint: 'Comma-separated. Empty: events of any name that match the conditions.',
    },
    {
      key: 'conditions',
      name: 'Property conditions',
      type: 'json',
      hint:
        'JSON list, e.g. [{"property": "$host", "operator": "is", "value": ["localhost"]}]. ' +
        `Operators: ${operatorNames}. Nested properties with dots.`,
    },
    {
      key: 'match',
      name: 'Conditions that must hold',
      type: 'choice',
      choices: ['All', 'Any'],
      default: 'All',
      hint: 'How several conditions combine. The name of the event must match in either case.',
    },
  ],
  example: {
    settings: { events: '$pageview', conditions: '[{"property": "$host", "operator": "is", "value": "localhost"}]' },
    before: { event: '$pageview', properties: { $host: 'localhost' } },
    after: null,
  },
  create(settings) {
    const names = new Set(listSetting(settings, 'events'));
    const conditions = readConditions('setting "conditions"', jsonSetting(settings, 'conditions'));
    if (names.size === 0 && conditions.length === 0) {
      throw new SettingsError('give "events" or "conditions": with neither, every event would be dropped');
    }
    const match = textSetting(settings, 'match', 'All') === 'Any' ? 'any' : 'all';
    const meets = combineConditions(conditions, match);
    return (event) => {
      const named = names.size === 0 || names.has(event.event);
      return named && meets(event.properties) ? null : event;
    };
  },
});
