import { parseUserAgent } from 'detect-browser';
import { defineTransformation } from '../plugin.ts';
import type { JsonObject } from '../../base/json.ts';
import { textSetting } from '../setting-values.ts';
import { ownText } from '../property-path.ts';
import { rememberHeaders, userAgentLengthMax } from './properties/remember-headers.ts';

const flags = ['false', 'true'] as const;

/** Properties that may contain the header; removed once it has been parsed. */
const aliases = ['$useragent', '$user-agent', '$user_agent'] as const;
const browserProperties = ['$browser', '$browser_version', '$os', '$device', '$device_type'] as const;

export const userAgent = defineTransformation({
  slug: 'user-agent',
  name: 'User agent populator',
  description: 'Turns a forwarded User-Agent header into browser, system and device properties.',
  alsoKnownAs: ['User Agent Populator', 'useragentplugin', '@posthog/user-agent-app', 'template-user-agent'],
  differences: [
    'Without the usual properties, $raw_user_agent is read (and kept), as the newer template does.',
    `Only the first ${userAgentLengthMax} characters are parsed; a header that is not text is removed unparsed.`,
  ],
  fields: [
    {
      key: 'overrideUserAgentDetails',
      name: 'Replace existing browser properties',
      type: 'choice',
      choices: flags,
      default: 'false',
      hint: 'false: an event that has any of $browser, $browser_version, $os, $device, $device_type keeps them all.',
    },
    {
      key: 'enableSegmentAnalyticsJs',
      name: 'Read segment_userAgent instead',
      type: 'choice',
      choices: flags,
      default: 'false',
      hint: 'The property that the analytics.js library of Segment sends. It stays on the event.',
    },
  ],
  example: {
    settings: {},
    before: {
      event: 'paid',
      properties: { $useragent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', plan: 'pro' },
    },
    after: {
      properties: {
        plan: 'pro',
        $device: '',
        $device_type: 'Desktop',
        $browser: 'firefox',
        $browser_version: '140.0.0',
        $os: 'Linux',
        $browser_type: 'browser',
      },
    },
  },
  create(settings) {
    const replaces = textSetting(settings, 'overrideUserAgentDetails', 'false') === 'true';
    const fromSegment = textSetting(settings, 'enableSegmentAnalyticsJs', 'false') === 'true';
    const populate = createBrowserProperties({ replaces, fromSegment });
    return (event) => {
      populate(event.properties);
      return event;
    };
  },
});

/** Adds the properties described by the header among the properties, in place. */
export function createBrowserProperties({
  replaces = false,
  fromSegment = false,
}: {
  /** Whether existing properties are replaced. */
  readonly replaces?: boolean;
  /** Reads only `segment_userAgent`. */
  readonly fromSegment?: boolean;
}): (properties: JsonObject) => void {
  const described = rememberHeaders(describe);
  return (properties) => {
    const header = fromSegment ? ownText(properties, 'segment_userAgent') : takeHeader(properties);
    if (header === '' || (!replaces && hasBrowserProperty(properties))) return;
    Object.assign(properties, described(header));
  };
}

/** Returns the first of the properties that contains text, and removes them all. */
function takeHeader(properties: JsonObject): string {
  let header = '';
  for (const alias of aliases) {
    if (!Object.hasOwn(properties, alias)) continue;
    if (header === '') header = ownText(properties, alias);
    delete properties[alias];
  }
  return header === '' ? ownText(properties, '$raw_user_agent') : header;
}

function hasBrowserProperty(properties: JsonObject): boolean {
  for (const key of browserProperties) if (Object.hasOwn(properties, key)) return true;
  return false;
}

function describe(header: string): JsonObject {
  const device = deviceOf(header);
  const described: JsonObject = { $device: device, $device_type: deviceTypeOf(device) };
  const agent = parseUserAgent(header);
  if (agent === null) return described;
  return {
    ...described,
    $browser: agent.name,
    $browser_version: agent.version,
    $os: agent.os,
    $browser_type: agent.type,
  };
}

/** Rules in order of precedence; names are those of the client libraries. */
const devices: readonly (readonly [form: RegExp, name: string])[] = [
  [/Windows Phone/i, 'Windows Phone'],
  [/WPDesktop/, 'Windows Phone'],
  [/iPad/, 'iPad'],
  [/iPod/, 'iPod Touch'],
  [/iPhone/, 'iPhone'],
  [/BlackBerry|PlayBook|BB10/i, 'BlackBerry'],
];

function deviceOf(header: string): string {
  const found = devices.find(([form]) => form.test(header));
  if (found !== undefined) return found[1];
  if (!header.includes('Android')) return '';
  return header.includes('Mobile') ? 'Android' : 'Android Tablet';
}

function deviceTypeOf(device: string): string {
  if (device === '') return 'Desktop';
  return device === 'iPad' || device === 'Android Tablet' ? 'Tablet' : 'Mobile';
}
