import { describe, expect, it } from 'vitest';
import type { SettingValues } from '../fields.ts';
import type { JsonObject } from '../../base/json.ts';
import { botFilter } from './bot-filter.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { transform } from './transformation.fixture.ts';

const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const google = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

const kept = (properties: JsonObject, settings: SettingValues = {}): boolean =>
  transform(botFilter, settings, { properties }) !== null;

describe('Bot filter', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = botFilter.example;
    expect(transform(botFilter, settings, before)).toEqual(after);
  });

  it.each<[JsonObject, boolean]>([
    [{ $raw_user_agent: chrome }, true],
    [{ $raw_user_agent: google }, false],
    [{ $raw_user_agent: google, $lib: 'js' }, false],
    [{ $raw_user_agent: google, $lib: 'posthog-python' }, true],
    [{ $raw_user_agent: 'python-requests/2.31', $lib: 'posthog-python' }, true],
    [{ $raw_user_agent: chrome.replace('126.0.0.0', '126.0.0.1234') }, false],
    [{ $raw_user_agent: `${chrome.replace('126.0.0.0', '126.0.0.1234')} OPR/1.0` }, true],
    [{ $raw_user_agent: 5 }, true],
    [{ $raw_user_agent: '' }, true],
    [{}, true],
    [{ $ip: '66.249.66.1', $raw_user_agent: chrome }, false],
    [{ $ip: '66.249.66.1', $raw_user_agent: chrome, $lib: 'posthog-node' }, true],
    [{ $ip: '2001:4860:4801:10::1' }, false],
    [{ $ip: '198.51.100.7' }, true],
    [{ $ip: 'none' }, true],
  ])('%j is kept: %j', (properties, expected) => {
    expect(kept(properties)).toBe(expected);
  });

  it.each<[SettingValues, JsonObject, boolean]>([
    [{ keepUndefinedUseragent: 'No' }, {}, false],
    [{ keepUndefinedUseragent: 'No' }, { $raw_user_agent: chrome }, true],
    [{ filterKnownBotUserAgents: 'false' }, { $raw_user_agent: google }, true],
    [{ filterKnownBotIps: 'false' }, { $ip: '66.249.66.1' }, true],
    [{ userAgent: 'agent' }, { agent: google }, false],
    [{ customBotPatterns: 'mybot, acme/\\d+' }, { $raw_user_agent: `${chrome} ACME/7`, $lib: 'x' }, false],
    [{ customBotPatterns: 'mybot' }, { $raw_user_agent: chrome }, true],
    [{ customIpPrefixes: '198.51.100.0/24' }, { $ip: '198.51.100.200', $lib: 'x' }, false],
    [{ customIpPrefixes: '198.51.100.7, 2001:db8::/32' }, { $ip: '2001:db8::1' }, false],
    [{ customIpPrefixes: '198.51.100.7' }, { $ip: '198.51.100.8' }, true],
    [{ customIpPrefixes: '0.0.0.0/0' }, { $ip: '203.0.113.1' }, false],
  ])('%j: %j is kept: %j', (settings, properties, expected) => {
    expect(kept(properties, settings)).toBe(expected);
  });

  it('a kept event is unchanged, and the result is stable', () => {
    const properties = { $raw_user_agent: chrome, $ip: '198.51.100.7' };
    const run = botFilter.create({}, testHost());
    if (typeof run !== 'function') throw new Error('expected one event at a time');
    const event = { uuid: '', event: '', distinct_id: '', team_id: 1, timestamp: '', properties: { ...properties } };
    expect(run(event)).toBe(event);
    expect(run(event)).toBe(event);
    expect(event.properties).toEqual(properties);
  });

  it.each([
    [{ customBotPatterns: '(' }, 'customBotPatterns'],
    [{ customIpPrefixes: '198.51.100' }, 'customIpPrefixes'],
    [{ customIpPrefixes: '198.51.100.0/33' }, 'customIpPrefixes'],
    [{ customIpPrefixes: '198.51.100.0/' }, 'customIpPrefixes'],
  ])('refuses %j', (settings, message) => {
    expect(() => botFilter.create(settings, testHost())).toThrow(message);
  });
});
