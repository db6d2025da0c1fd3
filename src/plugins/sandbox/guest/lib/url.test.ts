import * as fc from 'fast-check';
import * as legacy from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeAll(async () => {
  isolate = await openTestIsolate();
});

afterAll(() => isolate.close());

const parts = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
const address = fc.oneof(
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.string({ unit: 'grapheme' }),
  fc
    .tuple(
      fc.constantFrom('http:', 'https://', 'ftp://a', 'mailto:', 'file:///', '//', '?', '#', 'data:,', 'javascript:'),
      fc.string({ unit: 'binary' }),
    )
    .map((two) => two.join('')),
  fc.constantFrom(
    'http://2130706433/',
    'http://[::1]:80/',
    'http://ex ample.com',
    'HTTP://EXAMPLE.com:80/../a',
    'https://ü.de',
    '',
  ),
);
const query = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.stringMatching(/^[a-c%=&+0-9A-F?]*$/),
  fc
    .array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })))
    .map((pairs) => String(new URLSearchParams(pairs))),
);

function facts(make: () => URL): unknown {
  try {
    const url = make();
    return [...parts.map((part) => url[part]), [...url.searchParams], String(url), JSON.stringify(url)];
  } catch (error) {
    return error instanceof Error ? [error.name, error.message, Reflect.get(error, 'code')] : 'no error';
  }
}

const guestFacts = `
  const parts = ${JSON.stringify(parts)};
  const facts = (make) => {
    try {
      const url = make();
      return [...parts.map((part) => url[part]), [...url.searchParams], String(url), JSON.stringify(url)];
    } catch (error) { return [error.name, error.message, error.code]; }
  };`;

describe('URL as in Node', () => {
  it('parses the same, with and without a base', async () => {
    const cases = fc.sample(fc.tuple(address, fc.option(address, { nil: undefined })), 1500);
    const given = JSON.stringify(cases.map(([input, base]) => [input, base ?? null]));
    const code = `(() => { ${guestFacts}
      return ${given}.map(([input, base]) => facts(() => new URL(input, base ?? undefined))); })()`;
    expect(await isolate.run(code)).toEqual(cases.map(([input, base]) => facts(() => new URL(input, base))));
  });

  it('setters and parameters change it equally', async () => {
    const settable = parts.filter((part) => part !== 'origin');
    const change = fc.tuple(
      fc.constantFrom(...settable, 'append' as const),
      fc.oneof(address, fc.constantFrom('http', 'x', '99', '70000', 'a/b?c', '')),
    );
    const cases = fc.sample(
      fc.tuple(fc.webUrl({ withQueryParameters: true }), fc.array(change, { maxLength: 4 })),
      500,
    );
    const code = `(() => { ${guestFacts}
      return ${JSON.stringify(cases)}.map(([input, changes]) => facts(() => {
        const url = new URL(input);
        url.searchParams;
        for (const [part, value] of changes) part === 'append' ? url.searchParams.append('n', value) : url[part] = value;
        return url;
      })); })()`;
    expect(await isolate.run(code)).toEqual(
      cases.map(([input, changes]) =>
        facts(() => {
          const url = new URL(input);
          void url.searchParams;
          for (const [part, value] of changes) {
            if (part === 'append') url.searchParams.append('n', value);
            else url[part] = value;
          }
          return url;
        }),
      ),
    );
  });

  it.each([
    [`URL.canParse('https://a.b') && !URL.canParse('a.b') && URL.canParse('/c', 'https://a.b')`, true],
    [`URL.parse('no')`, null],
    [`new URL('https://a.b') instanceof URL`, true],
    [`Object.prototype.toString.call(new URL('https://a.b'))`, '[object URL]'],
    [
      `(() => { try { new URL('no') } catch (error) { return [error instanceof TypeError, error.code, error.input] } })()`,
      [true, 'ERR_INVALID_URL', 'no'],
    ],
    [`require('url').URL === URL`, true],
  ])('%s', async (code, value) => {
    expect(await isolate.run(code)).toEqual(value);
  });
});

describe('URLSearchParams as in Node', () => {
  it('reads and writes the same', async () => {
    const cases = fc.sample(query, 2000);
    const code = `${JSON.stringify(cases)}.map((text) => { const made = new URLSearchParams(text); return [[...made], String(made)]; })`;
    expect(await isolate.run(code)).toEqual(
      cases.map((each) => {
        const made = new URLSearchParams(each);
        return [[...made], String(made)];
      }),
    );
  });

  it('behaves the same, step by step', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'é');
    const value = fc.string({ unit: 'grapheme', maxLength: 3 });
    const step = fc.oneof(
      fc.tuple(fc.constantFrom('append' as const, 'set' as const), name, value),
      fc.tuple(fc.constant('delete' as const), name, fc.option(value, { nil: undefined })),
      fc.tuple(fc.constant('sort' as const), name, value),
    );
    const cases = fc.sample(fc.tuple(query, fc.array(step, { maxLength: 6 })), 500);
    const code = `${JSON.stringify(cases)}.map(([text, steps]) => {
      const made = new URLSearchParams(text);
      for (const [kind, name, value] of steps) kind === 'sort' ? made.sort() : made[kind](name, value ?? undefined);
      return [String(made), made.size, made.get('a'), made.getAll('b'), made.has('c'), made.has('a', 'x')];
    })`;
    expect(await isolate.run(code)).toEqual(
      cases.map(([text, steps]) => {
        const made = new URLSearchParams(text);
        for (const [kind, key, given] of steps) {
          if (kind === 'sort') made.sort();
          else if (kind === 'delete') made.delete(key, given);
          else made[kind](key, given ?? '');
        }
        return [String(made), made.size, made.get('a'), made.getAll('b'), made.has('c'), made.has('a', 'x')];
      }),
    );
  });

  it.each([
    [`String(new URLSearchParams({ a: 1, b: 'ü' }))`, 'a=1&b=%C3%BC'],
    [`String(new URLSearchParams([['a', '1'], ['a', '2']]))`, 'a=1&a=2'],
    [`String(new URLSearchParams(new Map([['a', 'b c']])))`, 'a=b+c'],
    [`String(new URLSearchParams(new URLSearchParams('a=1')))`, 'a=1'],
    [`(() => { try { new URLSearchParams([['a']]) } catch (error) { return error.name } })()`, 'TypeError'],
    [`new URLSearchParams('a=1&b=2').keys().toArray()`, ['a', 'b']],
  ])('%s', async (code, value) => {
    expect(await isolate.run(code)).toEqual(value);
  });
});

describe('the module url as in Node', () => {
  it('parse, format and resolve return the same', async () => {
    const cases = fc.sample(fc.webUrl({ withFragments: true, withQueryParameters: true }), 300);
    const code = `(() => { const url = require('url'); return ${JSON.stringify(cases)}.map((text) =>
      [{ ...url.parse(text, true) }, url.format(url.parse(text)), url.parse(text).format(),
        url.resolve(text, '../x?y')]); })()`;
    expect(await isolate.run(code)).toEqual(
      cases.map((text) => {
        const parsed = legacy.parse(text, true);
        const plain: unknown = JSON.parse(JSON.stringify(parsed));
        return [
          plain,
          legacy.format(legacy.parse(text)),
          legacy.format(legacy.parse(text)),
          legacy.resolve(text, '../x?y'),
        ];
      }),
    );
  });

  it('a URL of another kind is formatted too', async () => {
    const code = `require('url').format({ protocol: 'https', host: 'a.b', pathname: '/c', query: { d: 1 } })`;
    expect(await isolate.run(code)).toBe('https://a.b/c?d=1');
  });
});
