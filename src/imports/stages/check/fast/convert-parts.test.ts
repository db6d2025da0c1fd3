import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openConvertParts } from '../../../../../test/support/convert-parts.ts';
import { canonicalJson } from '../../../../base/canonical-json.ts';
import { isoOfMicros } from '../../../../base/clock.ts';
import { parseExactValues } from '../../../../base/exact-json.ts';
import { epochTime, textTime, utc, zoneOption, type Zone } from '../../../formats/times.ts';

const zones = [utc, zoneOption('zone', 'Europe/Berlin'), zoneOption('zone', '-03:30')];
const parts = await openConvertParts((zone, ms) => zones[zone]?.(ms) ?? Number.NaN);
const { code, bytes, put } = parts;

describe('a value is copied unchanged', () => {
  const isCopied = (text: string): boolean => {
    const from = put(`${text},`);
    return code.valueEnd(from) === from + Buffer.byteLength(text);
  };

  it.each([
    '0',
    '-1',
    '0.5',
    '-0.5',
    '123456789012345',
    '1234567890123456',
    '-8999999999999999',
    '0.000001',
    '12.000001',
    '"a\\"b\\\\\\n"',
    '"ä\u2028"',
    '"a text of more than sixteen bytes"',
    'null',
  ])('%s', (text) => {
    expect(isCopied(text)).toBe(true);
    expect(JSON.stringify(parseExactValues(text))).toBe(text);
  });

  it.each(['[]', '{}', '[1,[true,false]]', '{"b":1,"a":{"b":2}}'])('%s', (text) => {
    expect(isCopied(text)).toBe(true);
  });

  it.each([
    '01',
    '-0',
    '1.0',
    '1.',
    '.5',
    '1e3',
    '1E3',
    '1.5e3',
    '-',
    '9234567890123456',
    '12345678901234567',
    '1234567890123456.5',
    '0.0000001',
    '+1',
    'NaN',
  ])('not %s, which is not a number or is written differently', (text) => {
    expect(isCopied(text)).toBe(false);
  });

  it.each([
    '"\\u0041"',
    '"\\/"',
    '"\\x"',
    '"a',
    '"\t"',
    '[1, 2]',
    '[1,]',
    '{"a" :1}',
    '{"a":1,"a":2}',
    '{"1":2}',
    'nul',
    'True',
  ])('not %s, which is not JSON or is written differently', (text) => {
    expect(isCopied(text)).toBe(false);
  });

  it('only if JSON.stringify writes the same, for any text', () => {
    const compact = fc.json({ maxDepth: 6 });
    const spaced = fc.jsonValue({ maxDepth: 6 }).map((value) => JSON.stringify(value, undefined, 1));
    const number = fc.stringMatching(/^-?\d{0,18}\.?\d{0,18}(e-?\d)?$/);
    const property = fc.property(fc.oneof(compact, spaced, number), (text) => {
      return !isCopied(text) || JSON.stringify(parseExactValues(text)) === text;
    });
    expect(fc.check(property, { numRuns: 2000 }).counterexample).toBeNull();
  });
});

describe('content with sorted keys', () => {
  const written = (json: string): string | undefined => {
    const from = put(json);
    const end = code.writeContent(from, parts.free);
    return end === 0 ? undefined : bytes.toString('utf8', parts.free, end);
  };
  const keys = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', '$', ' ', '!', '_', 'é', 'ß', '中') }),
    fc.constantFrom('event', 'properties', 'distinct_id', '$city', '\ud83d\ude00', '\ufffd', '#'),
  );
  const values = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => Math.round(number * 100) / 100 || 0),
      fc.constantFrom(true, false, null, '', '"', '\\', '{', '}]', 0),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 6 }),
    ),
  })).value;

  it('equals canonicalJson, with or without white space', () => {
    const known = fc.property(values, (value) => {
      const json = JSON.stringify(value);
      if (json.includes('e+') || json.includes('e-')) return true;
      const own = written(json);
      // Only keys with characters from U+E000 on are left to the reader.
      return (
        own === canonicalJson(JSON.parse(json)) || (own === undefined && /[\ue000-\uffff\ud800-\udfff]/.test(json))
      );
    });
    expect(fc.check(known, { numRuns: 1000 }).counterexample).toBeNull();
    expect(written('{ "b" : 1 ,\t"a": {"d":[{"z":1,"y":2}],"c":"x"} }')).toBe(
      '{"a":{"c":"x","d":[{"y":2,"z":1}]},"b":1}',
    );
  });

  it('an object with many members is left to the reader', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 1]));
    expect(written(JSON.stringify(many))).toBeUndefined();
  });
});

interface TimeForm {
  readonly unit?: 's' | 'ms' | 'us';
  readonly areDigits?: true;
}

describe('times', () => {
  const units = { s: 1, ms: 2, us: 3 } as const;
  /** Returns the time as readers write it; `undefined` if it is left to them. */
  const written = (json: string, zone: Zone = utc, { unit, areDigits }: TimeForm = {}): string | undefined => {
    code.textZone.value = zones.indexOf(zone);
    code.numberZone.value = zones.indexOf(zone);
    code.timeUnit.value = unit === undefined ? 0 : units[unit];
    code.areDigits.value = Number(areDigits === true);
    const from = put(json);
    const micros = code.microsOf(from, from + Buffer.byteLength(json));
    return micros < 0n ? undefined : bytes.toString('latin1', parts.free, code.writeTime(parts.free, micros));
  };

  it('equal those of the readers, in every zone', () => {
    const second = fc.integer({ min: 946_684_800, max: 4_102_444_799 });
    const numbers = fc.oneof(
      second,
      second.map((each) => each * 1000 + 7),
      second.map((each) => each * 1_000_000 + 7),
      fc.integer({ min: -10, max: 1e14 }),
      fc.integer({ min: 1e14, max: 1e16 }),
    );
    const ofNumbers = fc.property(numbers, fc.constantFrom(...zones), (number, zone) => {
      const own = written(String(number), zone);
      return own === undefined || own === epochTime(number, undefined, zone);
    });
    expect(fc.check(ofNumbers).counterexample).toBeNull();
    const texts = fc
      .tuple(second, fc.constantFrom('', '.5', '.123', '.000001', '.123456', '.1234567'), fc.constantFrom('T', ' '))
      .map(
        ([at, fraction, separator]) =>
          isoOfMicros(at * 1e6)
            .slice(0, 19)
            .replace('T', separator) + fraction,
      );
    const ends = fc.constantFrom('', 'Z', '+00:00', '+02:00', ' ');
    const ofTexts = fc.property(texts, ends, fc.constantFrom(...zones), (text, end, zone) => {
      const own = written(JSON.stringify(text + end), zone);
      return own === undefined || own === textTime(text + end, zone);
    });
    expect(fc.check(ofTexts).counterexample).toBeNull();
  });

  it('numbers and digit texts have the declared unit', () => {
    const perSecond = { s: 1, ms: 1000, us: 1_000_000 } as const;
    const given = fc.tuple(
      fc.constantFrom(...(Object.keys(perSecond) as (keyof typeof perSecond)[])),
      fc.double({ min: 946_684_700, max: 4_102_444_900, noNaN: true }),
      fc.constantFrom(...zones),
      fc.boolean(),
    );
    const known = fc.property(given, ([unit, second, zone, isText]) => {
      const value = isText ? String(Math.floor(second * perSecond[unit])) : Math.floor(second * perSecond[unit]);
      const own = written(JSON.stringify(value), zone, { unit });
      return own === epochTime(value, unit, zone) || (own === undefined && (second < 946_800_000 || second > 4.1e9));
    });
    expect(fc.check(known).counterexample).toBeNull();
    const bySize = fc.property(given, ([unit, second]) => {
      const text = String(Math.floor(second * perSecond[unit]));
      const own = written(JSON.stringify(text), utc, { areDigits: true });
      return own === undefined || own === epochTime(text);
    });
    expect(fc.check(bySize).counterexample).toBeNull();
    expect(written('"1609459200"', utc, { areDigits: true })).toBe('2021-01-01T00:00:00.000Z');
  });

  it.each([
    ['1609459200', '2021-01-01T00:00:00.000Z'],
    ['1609459200123', '2021-01-01T00:00:00.123Z'],
    ['1609459200123456', '2021-01-01T00:00:00.123456Z'],
    ['"2021-01-01 00:00:00.000007"', '2021-01-01T00:00:00.000007Z'],
    ['"2021-01-01T00:00:00Z"', '2021-01-01T00:00:00.000Z'],
    ['"2021-01-01T00:00:00+00:00"', '2021-01-01T00:00:00.000Z'],
    ['"2024-02-29T00:00:00Z"', '2024-02-29T00:00:00.000Z'],
    ['"2021-12-31T00:00:00Z"', '2021-12-31T00:00:00.000Z'],
  ])('%s is %s', (json, time) => {
    expect(written(json)).toBe(time);
  });

  it.each(
    `0 -5 1609459200.5 99999999999 "1609459200" "2021-01-01" "2021-02-30T00:00:00Z" "2021-02-29T00:00:00Z" "2100-02-29T00:00:00Z"
    "2021-04-31T00:00:00Z"`.split(/\s+/),
  )('%s is left to the reader', (json) => {
    expect(written(json)).toBeUndefined();
  });
});

describe('hashes equal those of the platform for any length', () => {
  const kinds = {
    md5: { of: code.md5Of, words: 2, read: (hash: Buffer, at: number) => hash.readUInt32LE(at) },
    sha1: { of: code.sha1Of, words: 4, read: (hash: Buffer, at: number) => hash.readUInt32BE(at) },
  };

  it.each(['md5', 'sha1'] as const)('%s', (kind) => {
    const { of, words, read } = kinds[kind];
    const isSame = (message: Uint8Array): boolean => {
      const hash = createHash(kind).update(message).digest();
      const from = put(message);
      bytes.fill(0xff, from + message.length, from + message.length + 72);
      const sum = from + 4096;
      of(from, message.length, sum);
      return Array.from({ length: words }, (_, word) => word * 4).every(
        (word) => bytes.readUInt32LE(sum + word) === read(hash, word),
      );
    };
    for (let length = 0; length < 260; length += 1) expect(isSame(new Uint8Array(length).fill(length))).toBe(true);
    expect(fc.check(fc.property(fc.uint8Array({ maxLength: 1200 }), isSame)).counterexample).toBeNull();
  });

  it('CRC-32', () => {
    const isSame = (message: Uint8Array): boolean => {
      const from = put(message);
      return code.crc32(from, from + message.length) >>> 0 === crc32(message);
    };
    expect(fc.check(fc.property(fc.uint8Array({ maxLength: 1200 }), isSame)).counterexample).toBeNull();
  });
});

describe('a JSON string is decoded', () => {
  const unescaped = (json: string): string | undefined => {
    const from = put(json);
    const end = code.unescapeText(from, parts.free, parts.free + 1000);
    return end === from + Buffer.byteLength(json) ? bytes.toString('utf8', parts.free, code.unescapedEnd()) : undefined;
  };

  it.each(['""', '"a"', JSON.stringify('{"a":"\\\\"b"}'), JSON.stringify('\b\f\n\r\t'), '"\\/"', '"ä\u2028"'])(
    '%s as by JSON.parse',
    (json) => {
      expect(unescaped(json)).toBe(JSON.parse(json));
    },
  );

  it.each(['"a', '"a\\"', '"\\u0041"', '"\\x"', '"\t"', `"${'a'.repeat(1000)}"`])(
    '%s is left to the reader',
    (json) => {
      expect(unescaped(json)).toBeUndefined();
    },
  );
});
