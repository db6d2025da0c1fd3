import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { damagedBody, notQuiteValues, plainBody } from './bodies.fixture.ts';
import { FastScanner } from './fast-scan.ts';
import { BodySyntaxError } from './json-syntax.ts';
import { scanLimits, type ScanLimits } from './limits.ts';
import { scanBatchWith } from './scan.ts';
import { spanStride } from './scanned-batch.ts';

const limits = scanLimits(1_000_000);

function builtScanner(): FastScanner {
  const scanner = FastScanner.open();
  if (scanner === undefined) throw new Error('expected assembly/ to be built, got no dist/scan.wasm: npm run build');
  return scanner;
}

/** Returns what a scan returns or throws, in a form that can be compared. */
function outcome(fast: FastScanner | undefined, json: Buffer, limits: ScanLimits): unknown {
  try {
    const { spans, json: _, ...fields } = scanBatchWith(fast, json, limits);
    return { ...fields, spans: [...spans] };
  } catch (error) {
    if (!(error instanceof BodySyntaxError)) throw error;
    return { message: error.message, offset: error.offset, code: error.code };
  }
}

const anyLimits = fc.oneof(
  { weight: 2, arbitrary: fc.constant(limits) },
  {
    weight: 1,
    arbitrary: fc.record({
      eventBytesMax: fc.constantFrom(2, 40, 200, 1e6, 1e12),
      depthMax: fc.constantFrom(0, 1, 2, 3, 63, 64, 65, 1000),
      keysMax: fc.constantFrom(0, 1, 3, 8, 10_000),
    }),
  },
);

describe('scanning in WebAssembly', () => {
  it('returns the result of the JavaScript scanner for plain bodies, and scans most of them itself', () => {
    const scanner = builtScanner();
    let arrays = 0;
    let taken = 0;
    fc.assert(
      fc.property(plainBody, (text) => {
        const json = Buffer.from(text);
        expect(outcome(scanner, json, limits)).toEqual(outcome(undefined, json, limits));
        if (!text.trimStart().startsWith('[')) return;
        arrays++;
        if (scanner.scanElements(json, json.indexOf('['), limits) !== undefined) taken++;
      }),
      { numRuns: 3000 },
    );
    expect(taken / arrays).toBeGreaterThan(0.9);
  });

  it('returns or throws the same as the JavaScript scanner for any bodies and limits', () => {
    const scanner = builtScanner();
    fc.assert(
      fc.property(damagedBody, anyLimits, (json, limits) => {
        expect(outcome(scanner, json, limits)).toEqual(outcome(undefined, json, limits));
      }),
      { numRuns: 5000 },
    );
  });

  it('behaves the same for text that is almost JSON, at any position', () => {
    const scanner = builtScanner();
    for (const value of notQuiteValues) {
      for (const body of [
        `[${value}]`,
        `[{"event":"a"}${value}]`,
        `[{"event":${value}}]`,
        `[{"properties":${value},"x":1}]`,
        `{"batch":[{"properties":{"x":${value}}}]}`,
        `[{"x":[${value},{"y":${value}}]}]`,
      ]) {
        const json = Buffer.from(body);
        expect([body, outcome(scanner, json, limits)]).toEqual([body, outcome(undefined, json, limits)]);
      }
    }
  });

  it('behaves the same for a body truncated at any byte', () => {
    const scanner = builtScanner();
    const whole = Buffer.from(
      '{"api_key":"k", "batch": [{"event":"$a\\u00e9\\n","distinct_id":null,"properties":{"$set":{"a":[1.5e-3,true]},' +
        '"distinct_id":"é","$ip":false}} , {"event":"0123456789abcdef","\\u0024set":null,"x":"0123456789abcd\\ud83d"}]}',
    );
    for (let end = 0; end <= whole.length; end++) {
      const json = whole.subarray(0, end);
      expect(outcome(scanner, json, limits)).toEqual(outcome(undefined, json, limits));
    }
  });

  it.each([
    ['plain events', '[{"event":"a","distinct_id":"b","properties":{"$lib":"web","n":1}},{"event":"c"}]'],
    ['white space', '[ { "event" : "a" ,\n"properties" : { } } , {}\t]'],
    ['escapes in values', '[{"event":"\\u0024a\\n","properties":{"x":"\\"\\\\\\/"}}]'],
    [
      'escaped keys that are not recognised ones',
      '[{"event":"a","properties":{"gr\\u00f6\\u00dfe":1,"\\u4e2d":2,"a\\nb":3,"don\\u0027t":4}}]',
    ],
    ['nesting up to the limit', `[{"x":${'['.repeat(63)}${']'.repeat(63)}}]`],
    ['an empty array', '[ ]'],
  ])('scans %s itself', (_, text) => {
    expect(builtScanner().scanElements(Buffer.from(text), 0, limits)).toMatchObject({ end: text.length });
  });

  it.each([
    ['an element that is not an object', '[{"event":"a"},5]'],
    ['a recognised key written with escapes', '[{"ev\\u0065nt":"a"}]'],
    ['nesting beyond the limit', `[{"x":${'['.repeat(64)}${']'.repeat(64)}}]`],
    ['an unterminated array', '[{"event":"a"}'],
    ['many empty events', `[${'{},'.repeat(1000)}{}]`],
    ['more text than fits into its memory', `[{"x":"${'y'.repeat(5 * 1024 * 1024)}"}]`],
  ])('leaves %s to the JavaScript scanner', (_, text) => {
    expect(builtScanner().scanElements(Buffer.from(text), 0, limits)).toBeUndefined();
  });

  it('grows with the bodies and never reads bytes of an earlier one', () => {
    const scanner = builtScanner();
    const one = `{"event":"a","distinct_id":"b","properties":{"x":"${'y'.repeat(50)}"}}`;
    for (const count of [1, 20_000, 3, 500, 2, 39_000]) {
      const json = Buffer.from(`[${Array.from({ length: count }, () => one).join(',')}]`);
      expect(scanner.scanElements(json, 0, limits)?.spans.length).toBe(count * spanStride);
      const cut = json.subarray(0, json.length - 1);
      expect(outcome(scanner, cut, limits)).toEqual(outcome(undefined, cut, limits));
    }
  });

  it('keeps earlier results unchanged when it scans the next body', () => {
    const scanner = builtScanner();
    const first = scanner.scanElements(Buffer.from('[{"event":"a"}]'), 0, limits);
    const before = [...(first?.spans ?? [])];
    scanner.scanElements(Buffer.from('[{"properties":{}},{}]'), 0, limits);
    expect([...(first?.spans ?? [])]).toEqual(before);
  });

  it('copies a body once even if it repeats "batch"', () => {
    const scanner = builtScanner();
    const json = Buffer.from(`{"x":"${'y'.repeat(2_000_000)}"${',"batch":[{}]'.repeat(20_000)}}`);
    const started = process.cpuUsage();
    expect(outcome(scanner, json, limits)).toMatchObject({ count: 1 });
    // A copy per repetition would take seconds.
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });
});
