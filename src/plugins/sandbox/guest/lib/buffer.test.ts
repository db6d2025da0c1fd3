import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let isolate: TestIsolate;

beforeAll(async () => {
  isolate = await openTestIsolate();
});

afterAll(() => isolate.close());

const encodings = ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'binary', 'ascii', 'utf16le', 'ucs2'] as const;
/** What people really have in texts, and what breaks decoders. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.stringMatching(/^[A-Za-z0-9+/=_ \n-]*$/),
  fc.stringMatching(/^[0-9a-fA-Fg]*$/),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  // Bytes for building broken UTF-8.
  fc
    .array(
      fc.constantFrom(0x41, 0x80, 0xbf, 0xc0, 0xc3, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xf0, 0x90, 0xf4, 0x8f, 0xf8, 0xff),
    )
    .map((list) => Uint8Array.from(list)),
);

describe('Buffer as in Node', () => {
  it('text becomes the same bytes in every encoding', async () => {
    // Node uses the lower half of the code of other characters in base64 and hex; here they are skipped like all invalid ones.
    const isFair = ([each, encoding]: readonly [string, string]): boolean =>
      !/^(base64|hex)/.test(encoding) || /^[\0-\xff]*$/.test(each);
    const cases = fc.sample(fc.tuple(text, fc.constantFrom(...encodings)), 3000).filter(isFair);
    const code = `${JSON.stringify(cases)}.map(([text, encoding]) => [...Buffer.from(text, encoding)])`;
    expect(await isolate.run(code)).toEqual(cases.map(([each, encoding]) => Array.from(Buffer.from(each, encoding))));
  });

  it('bytes become the same text in every encoding, also broken ones', async () => {
    const cases = fc.sample(fc.tuple(bytes, fc.constantFrom(...encodings)), 3000);
    const given = JSON.stringify(cases.map(([each, encoding]) => [[...each], encoding]));
    const code = `${given}.map(([bytes, encoding]) => Buffer.from(bytes).toString(encoding))`;
    expect(await isolate.run(code)).toEqual(cases.map(([each, encoding]) => Buffer.from(each).toString(encoding)));
  });

  it('byteLength is the length of the result of from', async () => {
    const cases = fc.sample(text, 1000);
    const code = `${JSON.stringify(cases)}.map((text) => [Buffer.byteLength(text), Buffer.from(text).length])`;
    expect(await isolate.run(code)).toEqual(cases.map((each) => [Buffer.byteLength(each), Buffer.byteLength(each)]));
  });

  it('megabytes keep their content', async () => {
    const code = `(() => {
      const text = 'aé€😀'.repeat(200_000);
      const there = Buffer.from(text);
      return [there.length, there.toString() === text, Buffer.from(there.toString('base64'), 'base64').equals(there)];
    })()`;
    expect(await isolate.run(code)).toEqual([2_000_000, true, true]);
  });

  it.each([
    [`Buffer.from('abc').toString('hex', 1, 2)`, '62'],
    [`Buffer.from('abc').toString('utf8', -5, 99)`, 'abc'],
    [`Buffer.from('abc').toString('utf8', 2, 1)`, ''],
    [`Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString()`, 'ab'],
    [`Buffer.alloc(3, 'ab').toString()`, 'aba'],
    [`String(Buffer.from('é'))`, 'é'],
    [`JSON.parse(Buffer.from('{"a":1}')).a`, 1],
    [`JSON.stringify(Buffer.from('a'))`, '{"type":"Buffer","data":[97]}'],
    [`Buffer.isBuffer(Buffer.from('a')) && Buffer.from('a') instanceof Uint8Array`, true],
    [`Buffer.from('a').equals(Buffer.from([97]))`, true],
    [`Buffer.isEncoding('BASE64URL') && !Buffer.isEncoding('utf9')`, true],
    [`Buffer.from('ff', 'hex').readUInt8(0)`, 255],
    [`Buffer.compare(Buffer.from('a'), Buffer.from('b'))`, -1],
    [`Buffer.from('abc').slice(1).toString()`, 'bc'],
    [`require('buffer').Buffer === Buffer`, true],
  ])('%s', async (code, value) => {
    expect(await isolate.run(code)).toEqual(value);
  });

  it('an unknown encoding is an error', async () => {
    await expect(isolate.run(`Buffer.from('a', 'utf9')`)).rejects.toThrow('Unknown encoding: utf9');
  });
});

describe('TextEncoder, TextDecoder, atob, btoa as in Node', () => {
  it('any text, any bytes', async () => {
    const texts = fc.sample(text, 500);
    const lists = fc.sample(bytes, 500).map((each) => Array.from(each));
    const code = `[
      ${JSON.stringify(texts)}.map((text) => [...new TextEncoder().encode(text)]),
      ${JSON.stringify(lists)}.map((bytes) => new TextDecoder().decode(Uint8Array.from(bytes))),
      ${JSON.stringify(lists)}.map((bytes) => btoa(String.fromCharCode(...bytes))),
    ]`;
    expect(await isolate.run(code)).toEqual([
      texts.map((each) => Array.from(new TextEncoder().encode(each))),
      lists.map((each) => new TextDecoder().decode(Uint8Array.from(each))),
      lists.map((each) => btoa(String.fromCharCode(...each))),
    ]);
  });

  it('atob decodes valid text and refuses the rest', async () => {
    const texts = ['', 'YQ==', 'YQ', ' Y Q = = ', 'Y', 'YQ=', 'YQ===', 'Y-_=', 'YWJj', '=', 'YWJjZA'];
    const code = `${JSON.stringify(texts)}.map((text) => { try { return atob(text); } catch (error) { return error.name; } })`;
    expect(await isolate.run(code)).toEqual(
      texts.map((each) => {
        try {
          return atob(each);
        } catch (error) {
          return error instanceof Error ? error.name : 'no error';
        }
      }),
    );
  });

  it('broken bytes are an error if requested', async () => {
    const code = `new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(0xff))`;
    await expect(isolate.run(code)).rejects.toThrow('not valid for encoding utf-8');
  });
});

describe('structuredClone', () => {
  it('copies dates, maps, sets, bytes, errors and circular references', async () => {
    const code = `(() => {
      const map = new Map([[{ a: 1 }, new Set([1])]]);
      const given = { date: new Date(5), map, bytes: Uint8Array.of(1, 2), list: [1, , 3] };
      given.self = given;
      given.error = new RangeError('no');
      const copy = structuredClone(given);
      const [[key, set]] = copy.map;
      return [copy !== given, copy.self === copy, copy.date.getTime(), key.a, set.has(1), copy.bytes[1], 1 in copy.list,
        copy.error instanceof RangeError, copy.error.message];
    })()`;
    expect(await isolate.run(code)).toEqual([true, true, 5, 1, true, 2, false, true, 'no']);
  });

  it.each(['() => 1', 'Symbol()', '{ a: [() => 1] }', 'Promise.resolve()'])('%s is refused', async (value) => {
    const code = `(() => { try { structuredClone(${value}); } catch (error) { return error.name; } })()`;
    expect(await isolate.run(code)).toBe('DataCloneError');
  });
});
