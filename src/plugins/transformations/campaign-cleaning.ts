import { isObject } from '../../base/json.ts';
import type { SettingValues } from '../fields.ts';
import { personProperties } from './properties/person-properties.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { propertyPath, readPath, setOwn } from '../property-path.ts';
import { integerSetting, jsonSetting, textSetting } from '../setting-values.ts';

export const campaignCleaning = defineTransformation({
  slug: 'campaign-cleaning',
  name: 'Campaign cleaning',
  description: 'Shortens campaign names, and keeps the first and the latest on the person.',
  alsoKnownAs: [
    'Stonly Clean Campaign Name',
    'Plugin-Stonly-Clean-Campaign-Name',
    'plugin-Plugin-Stonly-Clean-Campaign-Name',
  ],
  differences: ['The published one has the settings of the example built in, for one site.'],
  fields: [
    {
      key: 'property',
      name: 'Property to clean',
      type: 'string',
      default: 'utm_campaign',
      hint: 'Contains the campaign name. It stays unchanged.',
    },
    {
      key: 'replacements',
      name: 'Replacements',
      type: 'json',
      hint: 'JSON object from text to replacement, applied in this order, each to the first match: {"com-": "comp-"}',
    },
    {
      key: 'cutAt',
      name: 'Cut at',
      type: 'string',
      hint: 'The name is cut at the first occurrence of this text, e.g. _',
    },
    {
      key: 'separator',
      name: 'Separator of parts',
      type: 'string',
      hint: 'With - the name autumn-sale-2026 has three parts. Empty: the name is one part.',
    },
    {
      key: 'parts',
      name: 'Parts to keep',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 100,
      default: '100',
      hint: 'Number of parts to keep from the start, 1 to 100; they are joined by spaces.',
    },
    {
      key: 'target',
      name: 'Name of the person property',
      type: 'string',
      default: 'campaign',
      hint: 'Written to $set under this name, and to $set_once with the prefix initial_.',
    },
  ],
  example: {
    settings: { replacements: '{"com-": "comp-", "compp-": "comp-"}', cutAt: '_', separator: '-', parts: '2' },
    before: { event: '$pageview', properties: { utm_campaign: 'com-onboarding-emea_2026' } },
    after: {
      properties: {
        utm_campaign: 'com-onboarding-emea_2026',
        $set: { campaign: 'comp onboarding' },
        $set_once: { initial_campaign: 'comp onboarding' },
      },
    },
  },
  create(settings) {
    const path = propertyPath(textSetting(settings, 'property', 'utm_campaign').trim());
    const clean = cleaning(settings);
    const target = textSetting(settings, 'target', 'campaign').trim();
    return (event) => {
      const value = readPath(event.properties, path);
      if (typeof value !== 'string' || value === '') return event;
      const name = clean(value);
      setOwn(personProperties(event.properties, '$set'), target, name);
      setOwn(personProperties(event.properties, '$set_once'), `initial_${target}`, name);
      return event;
    };
  },
});

function cleaning(settings: SettingValues): (name: string) => string {
  const replacements = readReplacements(settings);
  const cutAt = textSetting(settings, 'cutAt');
  const separator = textSetting(settings, 'separator');
  const parts = integerSetting(settings, 'parts', { standard: 100, min: 1, max: 100 });
  return (name) => {
    let text = name;
    for (const [from, to] of replacements) text = text.replace(from, () => to);
    const cut = cutAt === '' ? -1 : text.indexOf(cutAt);
    if (cut !== -1) text = text.slice(0, cut);
    return separator === '' ? text : text.split(separator).slice(0, parts).join(' ');
  };
}

function readReplacements(settings: SettingValues): [string, string][] {
  const given = jsonSetting(settings, 'replacements');
  if (given === undefined) return [];
  if (!isObject(given)) throw wrongSetting('replacements', 'expected a JSON object of texts');
  return Object.entries(given).map(([from, to]) => {
    if (typeof to === 'string' && from !== '') return [from, to];
    throw wrongSetting('replacements', `expected a text for "${from}"`);
  });
}
