import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { ipRemoval } from './ip-removal.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

describe('IP removal', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = ipRemoval.example;
    expect(transform(ipRemoval, settings, before)).toEqual(after);
  });

  it.each([
    ['12.214.31.144', '12.214.31.0'],
    ['0.0.0.0', '0.0.0.0'],
    ['2001:db8:85a3:8d3:1319:8a2e:370:7348', '2001:db8:85a3::'],
    ['2001:db8::1', '2001:db8:0::'],
    ['2001::1', '2001:0:0::'],
    ['::1', '0:0:0::'],
    ['::', '0:0:0::'],
    ['fe80::1%eth0', 'fe80:0:0::'],
    ['1:2:3:4:5:6:7::', '1:2:3::'],
    ['::ffff:12.214.31.144', '::ffff:12.214.31.0'],
  ])('%s becomes %s', (address, expected) => {
    expect(transformed(ipRemoval, {}, { $ip: address })).toEqual({ $ip: expected });
    expect(isIP(expected)).not.toBe(0);
  });

  it.each(['', 'localhost', '1.2.3', '1.2.3.256', 5, null])('does not change %j', ($ip) => {
    expect(transformed(ipRemoval, {}, { $ip })).toEqual({ $ip });
  });

  it.each<[JsonValue, JsonValue]>([
    ['1.2.3.4:1234', '1.2.3.0:1234'],
    ['[2001:db8:85a3:8d3::1]:443', '[2001:db8:85a3::]:443'],
    ['1.2.3.4, 5.6.7.8:80,2001:db8:85a3:8d3::1', '1.2.3.0, 5.6.7.0:80,2001:db8:85a3::'],
    [
      ['1.2.3.4', '5.6.7.8'],
      ['1.2.3.0', '5.6.7.0'],
    ],
    [
      { v4: '1.2.3.4', more: ['[::ffff:1.2.3.4]:1'] },
      { v4: '1.2.3.0', more: ['[::ffff:1.2.3.0]:1'] },
    ],
  ])('finds every address in %j', (address, expected) => {
    expect(transformed(ipRemoval, {}, { $ip: address })).toEqual({ $ip: expected });
  });

  it('removes addresses, also in other properties', () => {
    const settings = { properties: '$ip, $set_once.$initial_ip', method: 'Remove it' };
    const before = { $ip: 'x', $set_once: { $initial_ip: '1.2.3.4', a: 1 }, other: '1.2.3.4' };
    expect(transformed(ipRemoval, settings, before)).toEqual({ $set_once: { a: 1 }, other: '1.2.3.4' });
  });

  it('refuses an empty list', () => {
    expect(() => ipRemoval.create({ properties: ',' }, testHost())).toThrow('at least one property');
  });
});
