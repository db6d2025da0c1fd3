import { yesNo } from '../fields.ts';
import { personProperties } from './properties/person-properties.ts';
import { defineTransformation } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { referrerSource } from './referrer-sources.ts';
import { listSetting, yesSetting } from '../setting-values.ts';

/** Where a visit came from. What is undefined is not known. */
interface Origin {
  readonly parser: 'utm' | 'direct_and_own_domains' | 'snowplow';
  readonly medium?: string | undefined;
  readonly source?: string | undefined;
  readonly term?: string | undefined;
  /** Kept on the person only. */
  readonly campaign?: string | undefined;
  readonly content?: string | undefined;
}

export const referrer = defineTransformation({
  slug: 'referrer',
  name: 'Referrer',
  description: 'Says where a visit came from: medium, source and search term, by utm_ parameters or by the referrer.',
  alsoKnownAs: ['UTM Referrer', 'Snowplow referer parser', 'posthog-plugin-snowplow-referer-parser'],
  differences: [
    'The table of hosts is an own one: parts of a known host belong to it, assistants have the medium ai; some hosts are missing.',
    'Events without page address and referrer stay as they are; the published one marks them, and the person, as unknown.',
    'Without $referring_domain the host of $referrer counts; in the published one the visit is unknown then.',
    'Own domains come from the setting and are compared by host; in the published one they are part of the code.',
    'First values that are not known are null on the person; the published one leaves them out or writes "undefined" as text.',
    'A parameter that cannot be decoded is taken as it is; the published one throws.',
  ],
  fields: [
    {
      key: 'internal_domains',
      name: 'Own domains',
      type: 'string',
      hint: 'Comma-separated. Visitors who come from them, or from a part of them, count as direct: example.com, example.org',
    },
    {
      key: 'person',
      name: 'Keep on the person too',
      ...yesNo('Yes'),
      hint: 'The latest under the same names, the first ones under initial_ and the name.',
    },
  ],
  example: {
    settings: { internal_domains: 'example.com', person: 'No' },
    before: {
      event: '$pageview',
      properties: { $referrer: 'https://www.google.de/search?q=event+pipeline', $referring_domain: 'www.google.de' },
    },
    after: {
      properties: {
        $referrer: 'https://www.google.de/search?q=event+pipeline',
        $referring_domain: 'www.google.de',
        medium: 'search',
        source: 'google',
        term: 'event pipeline',
        referrer_parser: 'snowplow',
      },
    },
  },
  create(settings) {
    const isOwn = createOwnDomains(listSetting(settings, 'internal_domains'));
    const person = yesSetting(settings, 'person', 'Yes');
    return (event) => {
      const origin = originOf(event.properties, isOwn);
      if (origin === undefined) return event;
      write(event.properties, origin);
      if (person) writePerson(event.properties, origin);
      return event;
    };
  },
});

function originOf(properties: JsonObject, isOwn: (host: string) => boolean): Origin | undefined {
  const address = ownText(properties, '$current_url');
  if (address.includes('utm_')) return campaignOf(address);
  const from = ownText(properties, '$referrer');
  const domain = ownText(properties, '$referring_domain');
  if (from === '$direct' || domain === '$direct') return { parser: 'direct_and_own_domains', source: 'direct' };
  if (from === '' && domain === '') return undefined;
  const url = from === '' ? null : URL.parse(from);
  const host = domain === '' ? (url?.host ?? '') : domain;
  if (isOwn(host) || isOwn(url?.host ?? '')) return { parser: 'direct_and_own_domains', source: 'direct' };
  const known = referrerSource(host);
  const term = known?.terms.map((name) => url?.searchParams.get(name)).find((value) => typeof value === 'string');
  return {
    parser: 'snowplow',
    medium: known?.medium ?? 'unknown',
    source: known?.source ?? 'unknown',
    term: from === '' ? undefined : (term ?? ''),
  };
}

/** Parameters behind a # count as well: single-page applications have them there. */
function campaignOf(address: string): Origin {
  const parameters = new Map<string, string>();
  for (const part of address.split(/[?&#]/)) {
    if (!part.startsWith('utm_')) continue;
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    if (!parameters.has(name)) parameters.set(name, equals === -1 ? '' : decode(part.slice(equals + 1)).toLowerCase());
  }
  return {
    parser: 'utm',
    medium: parameters.get('utm_medium'),
    source: parameters.get('utm_source'),
    term: parameters.get('utm_term'),
    campaign: parameters.get('utm_campaign'),
    content: parameters.get('utm_content'),
  };
}

function write(properties: JsonObject, { medium, source, term, parser }: Origin): void {
  if (medium !== undefined) properties['medium'] = medium;
  if (source !== undefined) properties['source'] = source;
  if (term !== undefined) properties['term'] = term;
  properties['referrer_parser'] = parser;
}

function writePerson(properties: JsonObject, origin: Origin): void {
  const { medium, source, term, campaign, content, parser } = origin;
  const set = personProperties(properties, '$set');
  write(set, origin);
  if (campaign !== undefined) set['campaign'] = campaign;
  if (content !== undefined) set['content'] = content;
  // All of them at once, so that no later visit fills in what the first one did not have.
  const setOnce = personProperties(properties, '$set_once');
  setOnce['initial_medium'] = medium ?? null;
  setOnce['initial_source'] = source ?? null;
  setOnce['initial_campaign'] = campaign ?? null;
  setOnce['initial_content'] = content ?? null;
  setOnce['initial_term'] = term ?? null;
  setOnce['initial_referrer_parser'] = parser;
}

function createOwnDomains(domains: readonly string[]): (host: string) => boolean {
  const own = domains.map((domain) => domain.toLowerCase());
  return (host) => {
    const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
    return own.some((domain) => name === domain || name.endsWith(`.${domain}`));
  };
}

function ownText(properties: JsonObject, key: string): string {
  const value = Object.hasOwn(properties, key) ? properties[key] : undefined;
  return typeof value === 'string' ? value : '';
}

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch (error) {
    if (error instanceof URIError) return spaced;
    throw error;
  }
}
