import * as fc from 'fast-check';
import type { JsonValue } from '../../src/base/json.ts';
import { languageSplitter } from '../../src/plugins/transformations/language-splitter.ts';
import { referrer } from '../../src/plugins/transformations/referrer.ts';
import { routeCensor } from '../../src/plugins/transformations/route-censor.ts';
import { urlNormalizer } from '../../src/plugins/transformations/url-normalizer.ts';
import { urlParameters } from '../../src/plugins/transformations/url-parameters.ts';
import { urlParser } from '../../src/plugins/transformations/url-parser.ts';
import { utm } from '../../src/plugins/transformations/utm.ts';
import { properties, type Case } from './case.ts';
import { address, event, pathname, person, some, text, value, withSome } from './events.ts';

const isWhole = (url: unknown): boolean => typeof url === 'string' && URL.canParse(url);
const url = fc.oneof({ weight: 5, arbitrary: address }, pathname, value);

const normalizer: Case = {
  published: 'posthog-url-normalizer-plugin',
  plugin: urlNormalizer,
  jobs: some(event(withSome({ $current_url: url }))).map((events) => ({ settings: {}, meta: { config: {} }, events })),
  mayDiffer: ({ before }) =>
    isWhole(before.properties['$current_url']) ? undefined : 'What is no whole address stays',
};

const parser: Case = {
  published: 'url-parser',
  plugin: urlParser,
  jobs: some(event(withSome({ $current_url: url }))).map((events) => ({ settings: {}, meta: { config: {} }, events })),
};

const flag = fc.constantFrom('true', 'false');
const parameters: Case = {
  published: 'url-parameters',
  plugin: urlParameters,
  jobs: fc
    .tuple(
      fc.record({
        parameters: fc.constantFrom('plan', 'utm_source, plan', 'Plan, q'),
        prefix: fc.constantFrom('', 'p_'),
        suffix: fc.constantFrom('', '_s'),
        ignoreCase: flag,
        setAsUserProperties: flag,
        setAsInitialUserProperties: flag,
        alwaysJson: flag,
      }),
      some(event(withSome({ $current_url: url, $set: person, $set_once: person }))),
    )
    .map(([config, events]) => ({ settings: config, meta: { config }, events })),
  mayDiffer: ({ before }) =>
    isWhole(before.properties['$current_url']) ? undefined : 'An address that is no URL is read as far as it goes',
};

const routeLists = fc.constantFrom<JsonValue[]>(
  [{ path: '/users/:id', include: ['id'] }],
  [
    { path: '/users/:id', include: ['id'] },
    { path: '/users/ada', include: [] },
  ],
  [{ path: '/:lang/users/:name/:more?', include: ['name', 'more'] }],
  [{ path: '/users/*', include: ['*'] }],
  [
    {
      path: '/users',
      include: [],
      children: [
        { index: true, include: [] },
        { path: ':id', include: ['id'], children: [{ path: 'x.y/:rest', include: ['rest'] }] },
      ],
    },
    { path: '*', include: [] },
  ],
  [{ path: '/Users/:id', include: ['id'], caseSensitive: true }],
);
const places = '$current_url,$pathname';

/** The published one looks for the first text that is the same as a segment, anywhere before it. */
function isAmbiguous(given: unknown): boolean {
  const path = typeof given === 'string' && URL.canParse(given) ? new URL(given).pathname : String(given);
  if (path.includes('%')) return true;
  let start = 0;
  return path.split('/').some((segment) => {
    const at = start;
    start += segment.length + 1;
    return segment !== '' && path.indexOf(segment) !== at;
  });
}

const routes: Case = {
  published: 'route-censor',
  plugin: routeCensor,
  jobs: fc
    .tuple(
      routeLists,
      some(
        event(
          withSome({
            $current_url: url,
            $pathname: fc.oneof(pathname, text),
            $set: fc.record({ $pathname: pathname, kept: pathname }, { noNullPrototype: true }),
          }),
        ),
      ),
    )
    .map(([list, events]) => {
      const lists = { properties: places, set_properties: places, set_once_properties: places };
      return {
        settings: { ...lists, routesJson: list },
        meta: { config: lists, attachments: { routes: { contents: JSON.stringify(list) } } },
        events,
      };
    }),
  mayDiffer: ({ before }) => {
    const { $current_url, $pathname, $set } = before.properties;
    const inPerson = typeof $set === 'object' && $set !== null && !Array.isArray($set) ? $set['$pathname'] : '';
    return [$current_url, $pathname, inPerson].some(isAmbiguous) ? 'What is censored is found by its place' : undefined;
  },
};

const domain = fc.constantFrom(
  'www.google.com',
  'facebook.com',
  'mail.google.com',
  'www.bing.com',
  'duckduckgo.com',
  't.co',
  'twitter.com',
  'linkedin.com',
  'news.ycombinator.com',
  'search.yahoo.com',
  'yandex.ru',
  'example.com',
  'blog.getjoan.com',
);
const visit = fc.tuple(domain, fc.constantFrom('', '?q=a+b', '?x=1&q=caf%C3%A9#y', '?p=1')).map(([host, query]) => ({
  $referrer: `https://${host}/search${query}`,
  $referring_domain: host,
}));
const visits = fc
  .tuple(
    withSome({ $set: person, $set_once: person }),
    fc.oneof(visit, fc.constant({ $referrer: '$direct', $referring_domain: '$direct' }), fc.constant({})),
    fc.option(address, { nil: undefined }),
  )
  .map(([others, from, $current_url]) => Object.assign({}, others, from, $current_url && { $current_url }));

/** First values that are not known. */
const withoutUnknownFirst = properties((given) => {
  const first = given['$set_once'];
  if (typeof first !== 'object' || first === null) return;
  const entries = Object.entries(first).filter(([key, each]) => {
    return !(key.startsWith('initial_') && (each === null || each === 'undefined'));
  });
  given['$set_once'] = Object.fromEntries(entries);
});

const referrers: Case = {
  published: 'snowplow-referer-parser',
  plugin: referrer,
  jobs: some(event(visits)).map((events) => ({
    settings: { internal_domains: 'getjoan.com' },
    meta: { config: {} },
    events,
  })),
  normalise: withoutUnknownFirst,
  normaliseOurs: withoutUnknownFirst,
  mayDiffer: ({ before: { properties: given } }) =>
    '$referrer' in given || String(given['$current_url']).includes('utm_')
      ? undefined
      : 'Events without page address and referrer',
};

const utmNames = 'utm_source,utm_medium,utm_campaign,utm_content,utm_term';
const campaigns: Case = {
  published: 'stonly-utm-extractor',
  plugin: utm,
  jobs: some(event(withSome({ $current_url: fc.oneof(address, text), utm_source: text, utm_term: text }))).map(
    (events) => ({
      settings: { parameters: utmNames, sources: '$current_url', person: 'No' },
      meta: { config: {} },
      events,
    }),
  ),
  mayDiffer: ({ before }) =>
    isWhole(before.properties['$current_url']) ? undefined : 'An address that is not whole has its parameters read',
};

const standard = { pattern: '^/([a-z]{2})(?=/|#|\\?|$)', replacePattern: '^(/[a-z]{2})(/|(?=/|#|\\?|$))' };
const languages: Case = {
  published: 'language-url-splitter',
  plugin: languageSplitter,
  jobs: fc
    .tuple(
      fc.record({
        patterns: fc.constantFrom(standard, { pattern: '/([a-z]+)', replacePattern: 'a' }),
        matchGroup: fc.constantFrom('0', '1'),
        property: fc.constantFrom('locale', 'a'),
        replaceKey: fc.constantFrom('$pathname', 'clean'),
        replaceValue: fc.constantFrom('/', '$1', '-'),
      }),
      some(event(withSome({ $pathname: fc.oneof(pathname, value) }))),
    )
    .map(([{ patterns, ...others }, events]) => {
      const config = { ...patterns, ...others };
      return { settings: config, meta: { config }, events };
    }),
};

export const casesOfAddresses: readonly Case[] = [
  normalizer,
  parser,
  parameters,
  routes,
  referrers,
  campaigns,
  languages,
];
