import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../test/support/check-stage.ts';
import { formNames, formOf, probePattern, textOf } from '../../../../test/support/dirty-exports/dirty-exports.ts';
import { createOracle } from '../../../../test/support/dirty-exports/oracle.ts';
import type { CheckLimits } from './check-deps.ts';

const count = 450;
/** Below every threshold, and above all of them. */
const sizes: readonly (readonly [name: string, perSegment: number, threads: number, limits: Partial<CheckLimits>])[] = [
  ['many segments and pieces, 2 threads', 70, 2, { threadBytesMin: 1, deferredRows: 20 }],
  ['one segment', count, 1, {}],
];
/** Tables become lines of JSON before the check. */
const forms = formNames.filter((name) => formOf(name).heading === undefined);
const cases = forms.flatMap((name) =>
  // Of other time zones only the times are of interest.
  sizes
    .slice(0, name.endsWith('-zone') ? 1 : sizes.length)
    .map(([size, perSegment, threads, limits]) => ({ label: `${name}, ${size}`, name, perSegment, limits, threads })),
);

/** Formats a stored event like the oracle; its digits never become a number. */
function storedText(line: string): string | undefined {
  const probe = new RegExp(probePattern).exec(line)?.[1];
  if (probe === undefined) return undefined;
  const { event, distinct_id: distinctId, timestamp } = JSON.parse(line) as Record<string, string>;
  return textOf({
    event: String(event),
    distinctId: String(distinctId),
    ms: Date.parse(String(timestamp)),
    probe,
  });
}

/** Returns the first texts that the others lack. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const present = new Set(others);
  return texts.filter((text) => !present.has(text)).slice(0, 8);
}

describe('an export as dirty as real ones', () => {
  it.each(cases)(
    '$label: stored, duplicate, skipped and rejected records are those of the oracle',
    async ({ name, perSegment, limits, threads }) => {
      const expected: string[] = [];
      const oracle = createOracle((event) => expected.push(textOf(event)));
      const { make, isText, format, formatOptions } = formOf(name);
      const records = [...make(7, count)];
      await using test = await checkTest({ format, formatOptions });
      // Text is staged as JSON strings.
      const lines = records.map(({ text }) => (isText ? JSON.stringify(text) : text));
      // Files of unequal size.
      for (const [file, from] of [0, 10, 400].entries()) {
        oracle.startFile();
        records.slice(from, [10, 400][file]).forEach(oracle.add);
        await test.stage(`file-${file}`, lines.slice(from, [10, 400][file]), perSegment);
      }
      oracle.end();
      const { totals } = await test.check({ limits, threads });
      const bad = records.flatMap(({ expected: { is } }, index) => (is === 'rejected' ? [lines[index] ?? ''] : []));
      const refused = (await test.rejected()).map(({ original }) => original);
      expect({ accepted: without(bad, refused), refused: without(refused, bad) }).toEqual({
        accepted: [],
        refused: [],
      });
      const { records: read, duplicates, skipped, rejected } = oracle.totals;
      const skips = Object.values(totals.skipped).reduce((all, each) => all + each, 0);
      expect({ ...totals, skipped: skips }).toMatchObject({ records: read, duplicates, skipped, rejected });
      const stored = (await test.lines()).flatMap((line) => (line === '' ? [] : (storedText(line) ?? [])));
      expect(stored).toHaveLength(expected.length);
      expect({ missing: without(expected, stored), surplus: without(stored, expected) }).toEqual({
        missing: [],
        surplus: [],
      });
    },
  );
});
