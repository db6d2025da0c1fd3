import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { redactPersonalData } from './redact-personal-data.ts';
import { parsed, transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const salt = 'a salt that is long enough';
const hash = (text: string): string => createHmac('sha256', salt).update(text).digest('hex');
const removing = { method: 'Remove' };

describe('redact personal data', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = redactPersonalData.example;
    expect(transform(redactPersonalData, settings, before)).toEqual(after);
  });

  it('hashes properties with the salt: equal values have equal hashes', () => {
    const settings = { salt, properties: 'email, $set.email, age, tags, none, missing' };
    const before = { email: 'a@b.c', $set: { email: 'a@b.c', plan: 'x' }, age: 42, tags: ['t'], none: null };
    expect(transformed(redactPersonalData, settings, before)).toEqual({
      email: hash('a@b.c'),
      $set: { email: hash('a@b.c'), plan: 'x' },
      age: hash('42'),
      tags: hash('["t"]'),
      none: null,
    });
  });

  it('removes instead on request, without a salt', () => {
    const settings = { ...removing, properties: 'email, a.b' };
    expect(transformed(redactPersonalData, settings, { email: 'x', a: { b: 1, c: 2 } })).toEqual({ a: { c: 2 } });
  });

  it('hashes the distinct_id and every id that must stay equal to it', () => {
    const before = {
      distinct_id: 'ada',
      properties: {
        distinct_id: 'ada',
        $anon_distinct_id: 'anon',
        alias: 'ada',
        $device_id: 'anon',
        $user_id: '',
        n: 1,
      },
    };
    expect(transform(redactPersonalData, { salt, distinct_id: 'Yes' }, before)).toEqual({
      event: 'tested',
      distinct_id: hash('ada'),
      properties: {
        distinct_id: hash('ada'),
        $anon_distinct_id: hash('anon'),
        alias: hash('ada'),
        $device_id: hash('anon'),
        $user_id: '',
        n: 1,
      },
    });
  });

  it.each([
    ['ada@example.com', '[redacted]'],
    ['to <ada.l+x@mail.example.co.uk>, now', 'to <[redacted]>, now'],
    ['two: a@b.de and c@d.fr.', 'two: [redacted] and [redacted].'],
    ['/?mail=ada%40example.com&x=1', '/?mail=[redacted]&x=1'],
    ['@handle and user@ and a@localhost', '@handle and user@ and a@localhost'],
  ])('e-mail addresses: %j', (text, expected) => {
    expect(transformed(redactPersonalData, { ...removing, emails: 'Yes' }, { text })).toEqual({ text: expected });
  });

  it.each([
    ['10.0.0.1', '[redacted]'],
    ['from 10.0.0.1.', 'from [redacted].'],
    ['at 10.0.0.1:8080', 'at [redacted]:8080'],
    ['10.0.0.1:8080, [2001:db8::1]:443;10.0.0.2', '[redacted]:8080, [[redacted]]:443;[redacted]'],
    ['::ffff:10.0.0.1', '[redacted]'],
    ['https://10.0.0.1:80/?ip=10.0.0.2', 'https://[redacted]:80/?ip=[redacted]'],
    ['10.0.0.1:123456', '10.0.0.1:123456'],
    ['2001:db8::1', '[redacted]'],
    ['[2001:db8::1]', '[[redacted]]'],
    ['version 1.2.3', 'version 1.2.3'],
    ['999.0.0.1 and 1.2.3.4.5', '999.0.0.1 and 1.2.3.4.5'],
    ['12:30:45', '12:30:45'],
  ])('IP addresses: %j', (text, expected) => {
    expect(transformed(redactPersonalData, { ...removing, ips: 'Yes' }, { text })).toEqual({ text: expected });
  });

  it('finds addresses at any depth, also in lists, and keeps names and other types', () => {
    const settings = { ...removing, emails: 'Yes' };
    const before = { 'a@b.de': 1, list: ['x a@b.de', 2, { deep: ['a@b.de'] }], no: null, yes: true };
    expect(transformed(redactPersonalData, settings, before)).toEqual({
      'a@b.de': 1,
      list: ['x [redacted]', 2, { deep: ['[redacted]'] }],
      no: null,
      yes: true,
    });
  });

  it('names of object members are plain names, and no prototype is changed', () => {
    const before = parsed('{"__proto__": "a@b.de", "constructor": {"x": "a@b.de"}}');
    const after = transformed(redactPersonalData, { ...removing, emails: 'Yes', properties: 'toString' }, before);
    expect(JSON.stringify(after)).toBe('{"__proto__":"[redacted]","constructor":{"x":"[redacted]"}}');
  });

  it('runs in linear time on any text', () => {
    const texts = [
      'a@'.repeat(50_000),
      'a.'.repeat(50_000),
      `${'a'.repeat(50_000)}@`,
      '1:'.repeat(50_000),
      '1.'.repeat(50_000),
    ];
    const started = process.cpuUsage();
    for (const text of texts) transformed(redactPersonalData, { ...removing, emails: 'Yes', ips: 'Yes' }, { text });
    expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
  });

  it.each([
    [{ properties: 'email' }, '"salt"'],
    [{ properties: 'email', salt: 'short' }, '"salt"'],
    [{ ...removing, distinct_id: 'Yes' }, '"salt"'],
    [removing, 'nothing to redact'],
  ])('refuses %j without repeating the salt', (settings, message) => {
    expect(() => redactPersonalData.create(settings, testHost())).toThrow(message);
    expect(() => redactPersonalData.create(settings, testHost())).not.toThrow('short');
  });
});
