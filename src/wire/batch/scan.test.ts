import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { scanBatch } from './scan.ts';
import { BodySyntaxError } from './json-syntax.ts';
import { eventFlag, scanProblems, span, spanStride, type ScannedBatch } from './scanned-batch.ts';
import { distinctIdText, fieldFrom, fieldTo, flagsOf, stringAt, textAt } from './spans.ts';

const limits = { eventBytesMax: 1_000_000, depthMax: 64, keysMax: 10_000 };
const scanText = (text: string): ScannedBatch => scanBatch(Buffer.from(text), limits);

type Field = Exclude<keyof typeof span, 'flags' | 'problem'>;
function valueOf(scan: ScannedBatch, index: number, field: Field): unknown {
  const from = fieldFrom(scan, index, field);
  return from < 0 ? undefined : JSON.parse(textAt(scan.json, from, fieldTo(scan, index, field)));
}
function problemOf(scan: ScannedBatch, index: number): string | undefined {
  const problem = scan.spans[index * spanStride + span.problem] ?? 0;
  return problem === 0 ? undefined : scanProblems[problem - 1];
}
function refusal(text: string | Buffer): BodySyntaxError {
  try {
    scanBatch(Buffer.from(text as string), limits);
  } catch (error) {
    if (error instanceof BodySyntaxError) return error;
    throw error;
  }
  throw new Error(`expected a refusal of ${String(text).slice(0, 80)}`);
}

/** Rethrows every error except BodySyntaxError. */
function outcomeOf(bytes: Buffer): 'scanned' | 'refused' {
  try {
    scanBatch(bytes, limits);
    return 'scanned';
  } catch (error) {
    if (error instanceof BodySyntaxError) return 'refused';
    throw error;
  }
}
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

describe('the form of a body', () => {
  it('accepts a batch object, an array and a single event', () => {
    expect(scanText('{"api_key":"k","batch":[{"event":"a"},{"event":"b"}]}')).toMatchObject({
      root: 'batch',
      count: 2,
    });
    expect(scanText(' [ {"event":"a"} ] ')).toMatchObject({ root: 'array', count: 1, token: undefined });
    expect(scanText('{"event":"a","api_key":"k"}')).toMatchObject({ root: 'single', count: 1, token: undefined });
    expect(scanText('{"api_key":"k","batch":[]}').count).toBe(0);
    expect(scanText('[]').count).toBe(0);
  });

  it('reads the fields of a batch root at any position, the last of repeated keys', () => {
    const scan = scanText(
      '{"batch":[{"event":"old"}],"token":"a","sent_at":"s","historical_migration":true,"batch":[{"event":"new"}],"api_key":"b"}',
    );
    expect(scan).toMatchObject({ count: 1, token: 'b', sentAt: 's', historicalMigration: true });
    expect(valueOf(scan, 0, 'name')).toBe('new');
  });

  it('keeps a token that is not a string as JSON text, and ignores a sent_at that is not a string', () => {
    expect(scanText('{"api_key":5,"sent_at":7,"batch":[]}')).toMatchObject({ token: '5', sentAt: undefined });
  });

  it('accepts a single event with a field named batch', () => {
    expect(scanText('{"event":"a","batch":"nightly"}')).toMatchObject({ root: 'single', count: 1 });
  });

  it.each([
    ['', 'expected a batch object, an array of events or an event at byte 0, got: the end of the body'],
    ['"[]"', 'send the batch itself, not JSON inside a string'],
    ['{"batch":"[]"}', 'send the array itself, not JSON inside a string'],
    ['{"batch":null}', 'expected "batch" to be an array of events at byte 9'],
    ['{"batch":[],"historical_migration":"true"}', 'expected "historical_migration" to be true or false'],
    ['{"batch":[{}]} x', 'expected the end of the body at byte 15, got: "x"'],
    ['[{"a":1,}]', 'expected a key in quotes at byte 8, got: "}"'],
    ['[1,]', 'expected a JSON value at byte 3, got: "]"'],
    ['[{"a" 1}]', 'expected a colon after the key at byte 6'],
    ['[{"a":NaN}]', 'expected a JSON value at byte 6, got: "N", in event 0 of the batch'],
    ['{"batch":[{"a":1},{"a":{"b":-Infinity}}]}', 'expected a digit at byte 29, got: "I", in event 1 of the batch'],
    ['[{"a":01}]', 'expected a comma or } at byte 7'],
    ['[{"a":"x\ny"}]', 'expected a control character to be escaped at byte 8, got: byte 0x0a'],
    ['[{"a":"\\x"}]', 'expected one of "\\/bfnrtu after a backslash'],
    ['[{"a":"\\u12g4"}]', 'expected four hexadecimal digits'],
    ['[{"a":"', 'expected the closing quote of the text that starts at byte 6'],
    ['[{"a":tru}]', 'expected the word true at byte 9'],
  ])('refuses %j', (text, message) => {
    expect(refusal(text).message).toContain(message);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(() => scanBatch(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), limits)).toThrow('UTF-8');
    expect(() => scanBatch(Buffer.from([0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d]), limits)).toThrow('UTF-8');
  });
});

describe('the fields of an event', () => {
  it('finds every field under each of its names', () => {
    const event = {
      event: '$pageview',
      $distinct_id: 'u',
      uuid: 'x',
      timestamp: 't',
      offset: 5,
      $set: { a: 1 },
      $set_once: { b: 2 },
      $token: 'k',
      properties: { $ip: '1.2.3.4', nested: { $set: 1 } },
    };
    const scan = scanText(JSON.stringify([event]));
    const fields = [
      'name',
      'distinctId',
      'uuid',
      'timestamp',
      'offset',
      'set',
      'setOnce',
      'token',
      'properties',
    ] as const;
    expect(fields.map((field) => valueOf(scan, 0, field))).toEqual([
      '$pageview',
      'u',
      'x',
      't',
      5,
      { a: 1 },
      { b: 2 },
      'k',
      event.properties,
    ]);
    expect(flagsOf(scan, 0)).toBe(eventFlag.hasIp | eventFlag.dollarName);
  });

  it('falls back to the properties for id and token, even if the event has null', () => {
    for (const start of ['', '"distinct_id":null,"token":null,']) {
      const scan = scanText(`[{${start}"event":"a","properties":{"distinct_id":"p","token":"k"}}]`);
      expect(valueOf(scan, 0, 'distinctId')).toBe('p');
      expect(valueOf(scan, 0, 'token')).toBe('k');
      expect(flagsOf(scan, 0) & eventFlag.idInProperties).toBe(eventFlag.idInProperties);
    }
    const own = scanText('[{"distinct_id":"own","event":"a","properties":{"distinct_id":"p"}}]');
    expect(valueOf(own, 0, 'distinctId')).toBe('own');
    expect(flagsOf(own, 0)).toBe(0);
  });

  it('recognises an escaped key', () => {
    const scan = scanText('[{"ev\\u0065nt":"\\u0024a","properties":{"\\u0024set":{}}}]');
    expect(valueOf(scan, 0, 'name')).toBe('$a');
    expect(flagsOf(scan, 0)).toBe(eventFlag.dollarName);
    expect(valueOf(scan, 0, 'ownSet')).toEqual({});
  });

  it('uses only the last of repeated properties', () => {
    const scan = scanText('[{"event":"a","properties":{"$set":{},"$ip":"1","distinct_id":"x"},"properties":{}}]');
    expect(flagsOf(scan, 0)).toBe(eventFlag.emptyProperties);
    expect(valueOf(scan, 0, 'distinctId')).toBeUndefined();
    expect(valueOf(scan, 0, 'ownSet')).toBeUndefined();
  });

  it('finds person properties within the properties, the last of repeated keys', () => {
    const properties = '{"$set":{"a":1},"$unset":["b"],"$set_once":{"c":[{}]},"x":{"$set":{"inner":1}},"$set":null}';
    const scan = scanText(`[{"event":"a","$set":{"top":1},"properties":${properties}},{"event":"b","properties":{}}]`);
    const fields = ['set', 'ownSet', 'ownSetOnce', 'ownUnset'] as const;
    expect(fields.map((field) => valueOf(scan, 0, field))).toEqual([{ top: 1 }, null, { c: [{}] }, ['b']]);
    expect(fields.map((field) => valueOf(scan, 1, field))).toEqual([undefined, undefined, undefined, undefined]);
    expect(flagsOf(scan, 0)).toBe(0);
  });

  it.each([
    '$groups',
    '$process_person_profile',
    '$anon_distinct_id',
    'alias',
    '$group_type',
    '$ignore_sent_at',
    '$cookieless_mode',
  ])('marks an event whose properties contain %s', (key) => {
    expect(flagsOf(scanText(JSON.stringify([{ event: 'a', properties: { [key]: 1 } }])), 0)).toBe(eventFlag.special);
    expect(flagsOf(scanText(JSON.stringify([{ event: 'a', properties: { [`${key}x`]: 1 } }])), 0)).toBe(0);
  });

  it.each([['{}'], [' { \n } '], ['null']])('treats properties %j as empty', (properties) => {
    expect(flagsOf(scanText(`[{"event":"a","properties":${properties}}]`), 0)).toBe(eventFlag.emptyProperties);
  });
});

describe('limits per event', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  it('marks the event and continues', () => {
    const keys = `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`).join(',')}}`;
    const scan = scanText(
      `[{"event":"ok"},{"event":"deep","x":${deep(200)}},{"event":"keys","properties":${keys}},` +
        `{"event":"large","x":"${'y'.repeat(1_000_000)}"},5,null,"s",[],{"event":"ok"}]`,
    );
    expect(Array.from({ length: scan.count }, (_, i) => problemOf(scan, i))).toEqual([
      undefined,
      'event_too_deep',
      'too_many_keys',
      'event_too_large',
      'invalid_event',
      'invalid_event',
      'invalid_event',
      'invalid_event',
      undefined,
    ]);
    expect(valueOf(scan, 1, 'name')).toBe('deep');
  });

  it('counts the event itself as the first level', () => {
    expect(problemOf(scanText(`[{"x":${deep(63)}}]`), 0)).toBeUndefined();
    expect(problemOf(scanText(`[{"x":${deep(64)}}]`), 0)).toBe('event_too_deep');
    expect(problemOf(scanText(`[{"properties":{"x":${deep(62)}}}]`), 0)).toBeUndefined();
    expect(problemOf(scanText(`[{"properties":{"x":${deep(63)}}}]`), 0)).toBe('event_too_deep');
  });

  it('survives 400,000 levels and a million keys, and refuses depth outside the events', () => {
    const scan = scanText(`[{"x":${deep(400_000)}},{"event":"ok"}]`);
    expect([problemOf(scan, 0), problemOf(scan, 1)]).toEqual(['event_too_deep', undefined]);
    expect(problemOf(scanText(`[{${'"k":1,'.repeat(1_000_000)}"k":2}]`), 0)).toBe('event_too_large');
    expect(refusal(`{"batch":[],"x":${deep(1000)}}`).message).toContain('at most 64 levels');
  });

  it('accepts at most half a million events, so that the table stays small', () => {
    const error = refusal(`[${'{},'.repeat(500_000)}{}]`);
    expect([error.code, error.message]).toEqual(['request_too_large', expect.stringContaining('500000 events')]);
  });
});

describe('texts', () => {
  it.each([
    ['"plain"', 'plain'],
    ['"a\\u0041\\n"', 'aA\n'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud800x"', '\ufffdx'],
    ['"__proto__"', '__proto__'],
  ])('reads %s', (json, text) => {
    const buffer = Buffer.from(json);
    expect(stringAt(buffer, 0, buffer.length)).toBe(text);
  });

  it.each([
    ['23', '23'],
    ['12345678901234567890', '12345678901234567890'],
    ['{ "a" : [ 1, "x y" ] }', '{"a":[1,"x y"]}'],
    ['"a\\u0000b"', 'a\ufffdb'],
    ['true', 'true'],
  ])('converts %s to a distinct id', (json, text) => {
    const buffer = Buffer.from(json);
    expect(distinctIdText(buffer, 0, buffer.length)).toBe(text);
  });
});

describe('agreement with JSON.parse', () => {
  const json = fc.json({ maxDepth: 4 });
  const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
  const keys = fc.constantFrom(
    'event',
    'distinct_id',
    'uuid',
    'timestamp',
    'properties',
    'x',
    '__proto__',
    'ev\\u0065nt',
    '\\ud800',
    'offset',
    '$set',
  );
  const member = fc
    .tuple(space, keys, space, space, json, space)
    .map(([a, k, b, c, v, d]) => `${a}"${k}"${b}:${c}${v}${d}`);
  const eventText = fc.array(member, { maxLength: 8 }).map((members) => `{${members.join(',') || ' '}}`);
  const names: readonly [string, Field][] = [
    ['event', 'name'],
    ['uuid', 'uuid'],
    ['timestamp', 'timestamp'],
    ['offset', 'offset'],
    ['$set', 'set'],
    ['properties', 'properties'],
  ];

  it('finds the same value as JSON.parse for every field, with repetition, escapes, nesting and white space', () => {
    fc.assert(
      fc.property(fc.array(eventText, { maxLength: 4 }), (texts) => {
        const text = `[${texts.join(' , ')}]`;
        const parsed = JSON.parse(text) as Record<string, unknown>[];
        const scan = scanText(text);
        expect(scan.count).toBe(parsed.length);
        for (const [i, event] of parsed.entries()) {
          for (const [key, field] of names) expect(valueOf(scan, i, field)).toEqual(event[key]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('agrees on validity after any mutation, and throws only BodySyntaxError', () => {
    const base =
      '[{"event":"a\\u00e9","properties":{"n":-1.5e+3,"b":[true,false,null,{}],"s":"\\ud83d\\ude00"},"offset":0}]';
    const mutation = fc.tuple(
      fc.nat(base.length),
      fc.nat(3),
      fc.constantFrom(...'"\\{}[]:,0-1.eE+tfn u\n\t9x', 'é', '\u0000'),
    );
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        let text = base;
        for (const [at, removed, added] of mutations) text = text.slice(0, at) + added + text.slice(at + removed);
        const parsed = parsedJson(text);
        const isContainer = typeof parsed === 'object' && parsed !== null;
        expect([text, outcomeOf(Buffer.from(text))]).toEqual([text, isContainer ? 'scanned' : 'refused']);
      }),
      { numRuns: 3000 },
    );
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(['scanned', 'refused']).toContain(outcomeOf(Buffer.from(bytes)));
      }),
      { numRuns: 1000 },
    );
  });
});
