import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Case } from './compat/case.ts';
import { casesOfAddresses } from './compat/cases-of-addresses.ts';
import { casesOfPlaces } from './compat/cases-of-places.ts';
import { casesOfValues } from './compat/cases-of-values.ts';
import { runBoth, type Pair } from './compat/compare.ts';
import { publishedFolder, sourceOf } from './compat/published-plugin.ts';

/**
 * Compares built-in transformations with the published plugins that they replace, on generated settings and events. The sources of
 * the published ones are not part of this repository: without MILLRACE_PUBLISHED_PLUGINS, a folder with one folder per plugin,
 * nothing is compared.
 */
const cases: readonly Case[] = [...casesOfPlaces, ...casesOfAddresses, ...casesOfValues];
const missing = 'the published source is not there; MILLRACE_PUBLISHED_PLUGINS names the folder that holds it';

/** Enough to meet every setting and every kind of value many times over. */
const numRuns = Number(process.env['MILLRACE_COMPAT_RUNS'] ?? 100);

interface Tally {
  events: number;
  equal: number;
  readonly differed: Map<string, number>;
}

describe('built-in transformations match the published ones', () => {
  // Both sides run in the time zone that the published ones read from the machine.
  beforeEach(() => void vi.stubEnv('TZ', 'UTC'));

  for (const each of cases) {
    const { published, plugin } = each;
    const path = sourceOf(published) ?? '';
    const skipped = path === '' ? `: ${missing}` : '';
    it.skipIf(path === '')(`${plugin.slug} agrees with ${published}, apart from what it lists${skipped}`, async () => {
      const tally = await compareAll(each, path);
      if (process.env['MILLRACE_COMPAT_REPORT'] !== undefined) report(each, tally);
      expect(tally.equal).toBeGreaterThan(tally.events / 10);
    });
  }

  it.skipIf(publishedFolder === undefined)('a folder that is named holds sources', () => {
    expect(cases.filter((each) => sourceOf(each.published) !== undefined).length).toBeGreaterThan(0);
  });
});

/** @throws with the smallest job found whose results differ in a way that is not listed. */
async function compareAll(each: Case, path: string): Promise<Tally> {
  const tally: Tally = { events: 0, equal: 0, differed: new Map() };
  const agree = fc.asyncProperty(each.jobs, async (job) => {
    const pairs = await runBoth(each.plugin, path, job);
    for (const pair of pairs) compare(each, pair, each.mayDiffer?.(pair, job), tally);
  });
  await fc.assert(agree, { numRuns, seed: 20_261_121 });
  return tally;
}

function compare(
  { plugin, normalise, normaliseOurs }: Case,
  pair: Pair,
  difference: string | undefined,
  tally: Tally,
): void {
  const published = normalise?.(pair.published) ?? pair.published;
  const ours = normaliseOurs?.(pair.ours) ?? pair.ours;
  const listed = difference && plugin.differences?.find((sentence) => sentence.startsWith(difference));
  if (difference !== undefined && listed === undefined) {
    throw new Error(`${plugin.slug} lists no difference that starts with "${difference}"`);
  }
  tally.events++;
  if (isDeepStrictEqual(ours, published)) {
    tally.equal++;
    return;
  }
  if (listed === undefined) {
    const shown = { before: pair.before, published, ours };
    throw new Error(`a difference that is not listed: ${JSON.stringify(shown, undefined, 2)}`);
  }
  tally.differed.set(listed, (tally.differed.get(listed) ?? 0) + 1);
}

function report({ plugin, published }: Case, { events, equal, differed }: Tally): void {
  const lines = [...differed].map(([sentence, count]) => `  ${count}: ${sentence}`);
  console.info([`${plugin.slug} / ${published}: ${equal} of ${events} equal`, ...lines].join('\n'));
}
