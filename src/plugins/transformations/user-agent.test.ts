import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { userAgent } from './user-agent.ts';

const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const pixel =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36';
const tablet =
  'Mozilla/5.0 (Linux; Android 13; SM-X200) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';

const windows = {
  $device: '',
  $device_type: 'Desktop',
  $browser: 'chrome',
  $browser_version: '126.0.0',
  $os: 'Windows 10',
  $browser_type: 'browser',
};

describe('User agent populator', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = userAgent.example;
    expect(transform(userAgent, settings, before)).toEqual(after);
  });

  it.each<[string, JsonObject]>([
    [chrome, windows],
    [iphone, { $device: 'iPhone', $device_type: 'Mobile', $browser: 'ios', $os: 'iOS' }],
    [pixel, { $device: 'Android', $device_type: 'Mobile', $browser: 'chrome', $os: 'Android OS' }],
    [tablet, { $device: 'Android Tablet', $device_type: 'Tablet' }],
    ['Mozilla/5.0 (iPad; CPU OS 12_2)', { $device: 'iPad', $device_type: 'Tablet' }],
    ['Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1)', { $device: 'Windows Phone', $device_type: 'Mobile' }],
    ['BlackBerry9700/5.0', { $device: 'BlackBerry', $device_type: 'Mobile' }],
    ['Googlebot/2.1 (+http://www.google.com/bot.html)', { $browser: 'bot', $browser_version: null, $os: null }],
  ])('%s', (header, expected) => {
    expect(transformed(userAgent, {}, { $useragent: header })).toMatchObject(expected);
  });

  it('writes only the device if nothing else is known', () => {
    expect(transformed(userAgent, {}, { $useragent: 'curious' })).toEqual({ $device: '', $device_type: 'Desktop' });
  });

  it.each(['$useragent', '$user-agent', '$user_agent'])('reads and removes %s', (name) => {
    expect(transformed(userAgent, {}, { [name]: chrome })).toEqual(windows);
  });

  it('reads $raw_user_agent last, and keeps it', () => {
    expect(transformed(userAgent, {}, { $raw_user_agent: chrome })).toEqual({ ...windows, $raw_user_agent: chrome });
    expect(transformed(userAgent, {}, { $raw_user_agent: chrome, $useragent: iphone })).toMatchObject({ $os: 'iOS' });
  });

  it('uses the first property with text', () => {
    expect(transformed(userAgent, {}, { $useragent: '', '$user-agent': 5, $user_agent: chrome })).toEqual(windows);
  });

  it.each<JsonObject>([{}, { $useragent: '' }, { $useragent: null }])(
    'without a header nothing is written: %j',
    (before) => {
      expect(transformed(userAgent, {}, before)).toEqual({});
    },
  );

  it('keeps existing browser properties, or replaces them on request', () => {
    const before = { $useragent: chrome, $os: 'Plan 9' };
    expect(transformed(userAgent, {}, before)).toEqual({ $os: 'Plan 9' });
    expect(transformed(userAgent, { overrideUserAgentDetails: 'true' }, before)).toEqual(windows);
  });

  it('reads only the property of Segment on request', () => {
    const settings = { enableSegmentAnalyticsJs: 'true' };
    const segment = { segment_userAgent: chrome };
    expect(transformed(userAgent, settings, segment)).toEqual({ ...segment, ...windows });
    expect(transformed(userAgent, settings, { $useragent: chrome })).toEqual({ $useragent: chrome });
  });

  it('a malicious header is parsed quickly', () => {
    const started = process.cpuUsage();
    transformed(userAgent, {}, { $useragent: 'Trident/7.0rv:1)'.repeat(50_000) });
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });
});
