import { yesNo } from '../fields.ts';
import { personProperties } from './properties/person-properties.ts';
import { defineTransformation } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { referrerSource } from './referrer-sources.ts';
import { listSetting, yesSetting } from '../setting-values.ts';
import { decodePercent } from './properties/address.ts';
import { ownText } from '../property-path.ts';

/** Origin of a visit. Undefined parts are unknown. */
interface Origin {
  readonly parser: 'utm' | 'direct_and_own_domains' | 'snowplow';
  readonly medium?: string | undefined;
  readonly source?: string | undefined;
  readonly term?: string | undefined;
  /** Stored on the person only. */
  readonly campaign?: string | undefined;
  readonly content?: string | undefined;
}

export const referrer = defineTransformation({
  slug: 'referrer',
  name: 'Referrer',
  description: 'Adds the origin of a visit (medium, source and search term) from utm_ parameters or the referrer.',
  alsoKnownAs: ['UTM Referrer', 'Snowplow referer parser', 'posthog-plugin-snowplow-referer-parser'],
  differences: [
    'The table of hosts differs: it includes subdomains, assistants have the medium ai, and some hosts are missing.',
    'Events without page address and referrer stay unchanged; the published one marks them, and the person, as unknown.',
    'Without $referring_domain the host of $referrer is used; the published one marks the visit as unknown.',
    'Own domains are a setting and are compared by host; in the published one they are part of the code.',
    'Unknown first values are null on the person; the published one omits them or writes "undefined" as text.',
    'A parameter that cannot be decoded is used undecoded; the published one throws.',
  ],
  fields: [
    {
      key: 'internal_domains',
      name: 'Own domains',
      type: 'string',
      hint: 'Comma-separated. Visitors from them, or from their subdomains, count as direct: example.com, example.org',
    },
    {
      key: 'person',
      name: 'Keep on the person too',
      ...yesNo('Yes'),
      hint: 'The latest under the same names, the first ones with the prefix initial_.',
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

/** Parameters behind a # count too: single-page applications put them there. */
function campaignOf(address: string): Origin {
  const parameters = new Map<string, string>();
  for (const part of address.split(/[?&#]/)) {
    if (!part.startsWith('utm_')) continue;
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    if (!parameters.has(name))
      parameters.set(
        name,
        equals === -1 ? '' : decodePercent(part.slice(equals + 1).replaceAll('+', ' ')).toLowerCase(),
      );
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
  // Written together, so that no later visit fills in values missing from the first one.
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
