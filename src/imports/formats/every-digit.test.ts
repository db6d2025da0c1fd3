import { describe, expect, it } from 'vitest';
import { carriedIn, carriedText, eventsOfLine, listCarriers, withValue } from '../../../test/support/digit-carriers.ts';
import { createPick, deepValue, exactValue } from '../../../test/support/exact-values.ts';
import { formats } from './registry.ts';

/** The total; each format gets its share. */
const records = 10_000;
const carriers = listCarriers();

describe('numbers keep every digit', () => {
  it('every format with custom properties is covered', () => {
    const without = formats.filter((format) => !carriers.some((carrier) => carrier.format === format));
    expect(without.map(({ slug }) => slug)).toEqual([]);
  });

  it.each(carriers.map((carrier) => [carrier.format.slug, carrier] as const))(
    '%s: what a record says is what is sent, in canonical form',
    (slug, { format, templates }) => {
      const pick = createPick(slug.length * 7919);
      for (let count = 0; count < records / carriers.length; count += 1) {
        const value = count % 20 === 0 ? deepValue(2 * pick(12), exactValue(pick)) : exactValue(pick);
        const line = withValue(templates[count % templates.length] ?? '', value);
        const sent = eventsOfLine(format, line).flatMap(({ json }) => carriedIn(json));
        expect(new Set(sent)).toEqual(new Set([carriedText(value)]));
      }
    },
  );
});
