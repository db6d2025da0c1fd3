import { describe, expect, it } from 'vitest';
import { taxonomy } from './taxonomy.ts';
import { transform } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';

const written: Readonly<Record<string, string>> = {
  camelCase: 'helloThereWorld',
  PascalCase: 'HelloThereWorld',
  snake_case: 'hello_there_world',
  'kebab-case': 'hello-there-world',
  'spaces in between': 'hello there world',
};

function renamed(event: string, defaultNamingConvention: string, more: Record<string, string> = {}) {
  return transform(taxonomy, { defaultNamingConvention, ...more }, { event })?.event;
}

describe('taxonomy', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = taxonomy.example;
    expect(transform(taxonomy, settings, before)).toEqual(after);
  });

  it.each(Object.entries(written))('every pattern becomes %s', (convention, expected) => {
    for (const name of [...Object.values(written), 'Hello There World', ' hello..there__World']) {
      expect(renamed(name, convention)).toBe(expected);
    }
  });

  it.each([
    ['userID', 'user_id'],
    ['HTTPServer', 'httpserver'],
    ['v2Ready', 'v2ready'],
    ['größeÄndern', 'größe_ändern'],
    ['done', 'done'],
    ['__proto__', 'proto'],
    ['constructor', 'constructor'],
  ])('%s becomes %s', (name, expected) => {
    expect(renamed(name, 'snake_case')).toBe(expected);
  });

  it.each(['$pageview', '$autoCapture', 'survey shown', '_', ' - ', ''])('"%s" stays', (name) => {
    expect(renamed(name, 'camelCase')).toBe(name);
  });

  it('listed names stay', () => {
    expect(renamed('Signed Up', 'snake_case', { except: 'Signed Up' })).toBe('Signed Up');
  });

  it('a name always gives the same result, also beyond the limit of names', () => {
    const run = taxonomy.create({ defaultNamingConvention: 'snake_case' }, testHost());
    if (typeof run !== 'function') throw new Error('expected one event at a time');
    const event = { uuid: '', distinct_id: 'u', team_id: 1, timestamp: '', properties: {} };
    for (let index = 0; index < 12_000; index++) {
      expect(run({ ...event, event: `someName ${index % 6000}` })?.event).toBe(`some_name_${index % 6000}`);
    }
  });

  it('refuses an unknown pattern', () => {
    expect(() => taxonomy.create({ defaultNamingConvention: 'constructor' }, testHost())).toThrow('expected one of');
  });
});
