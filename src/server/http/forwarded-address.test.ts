import { describe, expect, it } from 'vitest';
import { clientAddress, keepTrustedAddress } from './forwarded-address.ts';

describe('the address behind trusted proxies', () => {
  it.each([
    ['89.160.20.129', '89.160.20.129'],
    ['89.160.20.129:1234', '89.160.20.129'],
    ['2001:db8:85a3::1', '2001:db8:85a3::1'],
    ['[2001:db8:85a3::1]:8080', '2001:db8:85a3::1'],
    ['[2001:db8:85a3::1]', '2001:db8:85a3::1'],
    ['"[2001:db8:85a3::1]:8080"', '2001:db8:85a3::1'],
    ['::ffff:89.160.20.129', '89.160.20.129'],
    ['fe80::1%eth0', 'fe80::1'],
    ['89.160.20.129, 10.0.0.1', '89.160.20.129'],
    ['89.160.20.129, [fd00::1]:80, 10.0.0.1:443', '89.160.20.129'],
    ['unknown, 89.160.20.129', '89.160.20.129'],
    ['unknown', undefined],
    ['89.160.20.129, unknown', undefined],
    ['unknown, 10.0.0.1', '10.0.0.1'],
    ['', undefined],
    ['10.0.0.7', '10.0.0.7'],
    ['a'.repeat(10_000), undefined],
  ])('of %j is %j', (header, expected) => {
    expect(clientAddress(header)).toBe(expected);
  });

  it('is never one that the client forged', () => {
    for (const made of ['1.1.1.1', '10.0.0.9', 'unknown', '1.1.1.1, 2.2.2.2', '127.0.0.1']) {
      expect(clientAddress(`${made}, 89.160.20.129, 10.0.0.1`)).toBe('89.160.20.129');
    }
  });

  it('is alone in the header; a header without one is removed', () => {
    const headers: Record<string, string> = { 'x-forwarded-for': '1.1.1.1, 89.160.20.129' };
    keepTrustedAddress({ headers });
    expect(headers).toEqual({ 'x-forwarded-for': '89.160.20.129' });
    headers['x-forwarded-for'] = 'unknown';
    keepTrustedAddress({ headers });
    expect(headers).toEqual({});
  });
});
