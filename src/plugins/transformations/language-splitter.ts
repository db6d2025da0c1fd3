import { yesNo } from '../fields.ts';
import { guardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { setOwn } from '../property-path.ts';
import { textSetting, yesSetting } from '../setting-values.ts';

const standardPattern = '^/([a-z]{2})(?=/|#|\\?|$)';
const standardReplacePattern = '^(/[a-z]{2})(/|(?=/|#|\\?|$))';

export const languageSplitter = defineTransformation({
  slug: 'language-splitter',
  name: 'Language splitter',
  description: 'Moves the language from the path of a page to a property.',
  alsoKnownAs: ['Language URL splitter', 'Language URL stripper', 'language-url-splitter-app'],
  differences: [
    'A separate setting decides whether the path is cleaned; in the published one an empty replacement pattern does.',
    'A group that did not participate in the match writes nothing; invalid regular expressions are refused on saving.',
  ],
  fields: [
    {
      key: 'pattern',
      name: 'Pattern of the language',
      type: 'string',
      required: true,
      default: standardPattern,
      hint: 'Regular expression for $pathname. The default matches two letters at the start: /de/pricing',
    },
    {
      key: 'matchGroup',
      name: 'Group of the pattern that is the language',
      type: 'string',
      required: true,
      default: '1',
      hint: 'Its number, or its name; 0 is the whole match.',
    },
    {
      key: 'property',
      name: 'Property for the language',
      type: 'string',
      required: true,
      default: 'locale',
      hint: 'Written only when the pattern matches.',
    },
    {
      key: 'cleanPath',
      name: 'Remove the language from the path',
      ...yesNo('Yes'),
      hint: 'Uses the replacement pattern below.',
    },
    {
      key: 'replacePattern',
      name: 'Replacement pattern',
      type: 'string',
      default: standardReplacePattern,
      hint: 'Regular expression for the part of $pathname to replace.',
    },
    {
      key: 'replaceKey',
      name: 'Property for the path without the language',
      type: 'string',
      default: '$pathname',
      hint: '$pathname replaces the path itself.',
    },
    {
      key: 'replaceValue',
      name: 'Replacement',
      type: 'string',
      default: '/',
      hint: 'Replaces the match of the replacement pattern.',
    },
  ],
  example: {
    settings: {},
    before: { event: '$pageview', properties: { $pathname: '/de/preise' } },
    after: { properties: { $pathname: '/preise', locale: 'de' } },
  },
  create(settings) {
    const pattern = guardedPattern('pattern', textSetting(settings, 'pattern', standardPattern));
    const replaced = guardedPattern('replacePattern', textSetting(settings, 'replacePattern', standardReplacePattern));
    const groupOf = readGroup(textSetting(settings, 'matchGroup', '1').trim());
    const property = textSetting(settings, 'property', 'locale');
    const cleans = yesSetting(settings, 'cleanPath', 'Yes');
    const replaceKey = textSetting(settings, 'replaceKey', '$pathname');
    const replaceValue = textSetting(settings, 'replaceValue', '/');
    return (event) => {
      const { properties } = event;
      const path = Object.hasOwn(properties, '$pathname') ? properties['$pathname'] : undefined;
      const match = typeof path === 'string' ? pattern.exec(path) : null;
      if (typeof path !== 'string' || match === null) return event;
      const language = groupOf(match);
      if (language !== undefined) setOwn(properties, property, language);
      if (cleans) setOwn(properties, replaceKey, replaced.replace(path, replaceValue));
      return event;
    };
  },
});

function readGroup(group: string): (match: RegExpExecArray) => string | undefined {
  if (/^\d{1,2}$/.test(group)) return (match) => match[Number(group)];
  if (!/^[A-Za-z_]\w*$/.test(group)) throw wrongSetting('matchGroup', 'expected a number or a name');
  return (match) =>
    match.groups !== undefined && Object.hasOwn(match.groups, group) ? match.groups[group] : undefined;
}
