import { defineTransformation, wrongSetting } from '../plugin.ts';
import { listSetting, textSetting } from '../setting-values.ts';

/** Joins lower-case words to a name. */
const conventions: Readonly<Record<string, (words: readonly string[]) => string>> = {
  camelCase: ([first = '', ...others]) => first + others.map(capitalised).join(''),
  PascalCase: (words) => words.map(capitalised).join(''),
  snake_case: (words) => words.join('_'),
  'kebab-case': (words) => words.join('-'),
  'spaces in between': (words) => words.join(' '),
};

/** Events of client libraries whose names contain spaces and are searched by them. */
const surveyEvents = ['survey shown', 'survey sent', 'survey dismissed'];
/** Names repeat; the limit protects the memory from a project with a new name per event. */
const namesMax = 5000;

export const taxonomy = defineTransformation({
  slug: 'taxonomy',
  name: 'Taxonomy',
  description: 'Converts event names to one naming pattern: camelCase, PascalCase, snake_case, kebab-case or spaces.',
  alsoKnownAs: [
    'Taxonomy Plugin',
    'Taxonomy standardizer',
    'taxonomy-plugin',
    'plugin-taxonomy-plugin',
    'template-taxonomy',
  ],
  differences: [
    'Names are split at spaces, dots, _, - and at a capital after a small letter, as in the newer template; the older ' +
      'plugin splits at only one of these, so that "Signed Up" became "signed Up".',
  ],
  fields: [
    {
      key: 'defaultNamingConvention',
      name: 'Naming pattern',
      type: 'choice',
      choices: Object.keys(conventions),
      default: 'camelCase',
      hint: 'The pattern for all event names.',
    },
    {
      key: 'except',
      name: 'Except these events',
      type: 'string',
      hint: 'Comma-separated event names. Names that start with $ and survey events always stay.',
    },
  ],
  example: {
    settings: { defaultNamingConvention: 'snake_case' },
    before: { event: 'orderCompleted', properties: {} },
    after: { event: 'order_completed', properties: {} },
  },
  create(settings) {
    const chosen = textSetting(settings, 'defaultNamingConvention', 'camelCase');
    const convention = Object.hasOwn(conventions, chosen) ? conventions[chosen] : undefined;
    if (convention === undefined) {
      throw wrongSetting('defaultNamingConvention', `expected one of ${Object.keys(conventions).join(', ')}`);
    }
    const same = new Set([...listSetting(settings, 'except'), ...surveyEvents]);
    const known = new Map<string, string>();
    return (event) => {
      const name = event.event;
      const before = known.get(name);
      if (before !== undefined) {
        event.event = before;
        return event;
      }
      const words = name.startsWith('$') || same.has(name) ? [] : wordsOf(name);
      if (known.size >= namesMax) known.clear();
      event.event = words.length === 0 ? name : convention(words);
      known.set(name, event.event);
      return event;
    };
  },
});

/** Splits a name: `userSignedUp`, `user_signed_up` and `User Signed Up` all give user, signed, up. */
function wordsOf(name: string): string[] {
  return name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .split(/[_\-. ]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

function capitalised(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
}
