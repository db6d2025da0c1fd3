import { BlockList, isIP } from 'node:net';
import { isbot } from 'isbot';
import { trueFalse, yesNo, type SettingValues } from '../fields.ts';
import { guardedPattern, type GuardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { propertyPath, readPath } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';
import { rememberHeaders } from './properties/remember-headers.ts';

/** No Chrome has a fourth version number of four digits, but fake versions do. */
const impossibleChrome = /Chrome\/\d{1,5}\.\d{1,5}\.\d{1,7}\.\d{4,10} (?:Mobile )?Safari\/537\.36$/;

export const botFilter = defineTransformation({
  slug: 'bot-filter',
  name: 'Bot filter',
  description: 'Drops events of crawlers and other bots, by user agent and by IP address.',
  alsoKnownAs: ['Filter Bot Events', 'template-bot-detection', 'bot-ip-excluder', 'useragent-excluder'],
  differences: ["The lists of known bots are this program's: the package isbot, and a short list of networks."],
  fields: [
    {
      key: 'userAgent',
      name: 'Property that holds the user agent',
      type: 'string',
      required: true,
      default: '$raw_user_agent',
      hint: 'E.g. $raw_user_agent, $useragent',
    },
    {
      key: 'filterKnownBotUserAgents',
      name: 'Drop known bots by user agent',
      ...trueFalse('true'),
      hint: 'Only for events of browsers ($lib is web, js or missing): server libraries look like bots.',
    },
    {
      key: 'customBotPatterns',
      name: 'More bots by user agent',
      type: 'string',
      hint: 'Comma-separated regular expressions, matched anywhere and case-insensitively: mybot, acme-crawler',
    },
    {
      key: 'filterKnownBotIps',
      name: 'Drop known bots by IP address',
      ...trueFalse('true'),
      hint: 'A short list of networks of search engines, by $ip; only for events of browsers.',
    },
    {
      key: 'customIpPrefixes',
      name: 'More bots by IP address',
      type: 'string',
      hint: 'Comma-separated addresses or networks, by $ip: 198.51.100.0/24, 2001:db8::/48',
    },
    {
      key: 'keepUndefinedUseragent',
      name: 'Keep events without user agent',
      ...yesNo('Yes'),
      hint: 'Events from servers often have no user agent.',
    },
  ],
  example: {
    settings: {},
    before: {
      event: '$pageview',
      properties: {
        $lib: 'web',
        $raw_user_agent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      },
    },
    after: null,
  },
  create(settings) {
    const source = propertyPath(textSetting(settings, 'userAgent', '$raw_user_agent'));
    const keepsUnknown = yesSetting(settings, 'keepUndefinedUseragent', 'Yes');
    const knownAgents = textSetting(settings, 'filterKnownBotUserAgents', 'true') === 'true';
    const knownNetworks = textSetting(settings, 'filterKnownBotIps', 'true') === 'true';
    const isCustomBot = createCustomCheck(settings);
    const custom = networksOf(listSetting(settings, 'customIpPrefixes'));
    const known = networksOf(knownNetworks ? crawlerNetworks : []);
    const isKnownBot = rememberHeaders((header) => isbot(header) || impossibleChrome.test(header));
    return (event) => {
      const { properties } = event;
      const agent = readPath(properties, source);
      const header = typeof agent === 'string' ? agent : '';
      if (header === '' && !keepsUnknown) return null;
      const browser = isBrowser(properties);
      if (header !== '' && ((knownAgents && browser && isKnownBot(header)) || isCustomBot(header))) return null;
      const ip = Object.hasOwn(properties, '$ip') ? properties['$ip'] : undefined;
      if (isIn(custom, ip) || (browser && isIn(known, ip))) return null;
      return event;
    };
  },
});

function isBrowser(properties: JsonObject): boolean {
  const lib = Object.hasOwn(properties, '$lib') ? properties['$lib'] : undefined;
  return lib === undefined || lib === null || lib === '' || lib === 'web' || lib === 'js';
}

function createCustomCheck(settings: SettingValues): (header: string) => boolean {
  const patterns: GuardedPattern[] = listSetting(settings, 'customBotPatterns').map((each) =>
    guardedPattern('customBotPatterns', each, 'i'),
  );
  if (patterns.length === 0) return () => false;
  return rememberHeaders((header) => patterns.some((pattern) => pattern.test(header)));
}

function networksOf(list: readonly string[]): BlockList | undefined {
  if (list.length === 0) return undefined;
  const networks = new BlockList();
  for (const entry of list) {
    const [address = '', prefix] = entry.split('/');
    const version = isIP(address);
    const bits = version === 6 ? 128 : 32;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (version === 0 || !(length >= 0 && length <= bits)) {
      throw wrongSetting('customIpPrefixes', 'expected an address or a network such as 198.51.100.0/24');
    }
    networks.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  }
  return networks;
}

function isIn(networks: BlockList | undefined, ip: JsonValue | undefined): boolean {
  if (networks === undefined || typeof ip !== 'string') return false;
  const version = isIP(ip);
  return version !== 0 && networks.check(ip, version === 6 ? 'ipv6' : 'ipv4');
}

/** Networks of crawlers of search engines and link indexes, as documented by their operators. */
const crawlerNetworks: readonly string[] = [
  // Googlebot
  '66.249.64.0/19',
  '2001:4860:4801::/48',
  // Bingbot
  '13.66.139.0/24',
  '13.66.144.0/24',
  '13.67.10.16/28',
  '40.77.167.0/24',
  '40.77.188.0/22',
  '52.167.144.0/24',
  '65.55.210.0/24',
  '157.55.39.0/24',
  '199.30.24.0/23',
  '207.46.13.0/24',
  // Applebot
  '17.58.96.0/19',
  '17.121.112.0/22',
  '17.241.208.160/27',
  // Baiduspider
  '116.179.32.0/24',
  '180.76.15.0/24',
  '220.181.108.0/24',
  // YandexBot
  '5.255.231.0/24',
  '5.255.253.0/24',
  '87.250.224.0/24',
  '95.108.213.0/24',
  '213.180.203.0/24',
  // AhrefsBot
  '51.222.253.0/24',
  '54.36.148.0/23',
  // SemrushBot
  '85.208.96.0/22',
  '185.191.171.0/24',
];
