import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../test/support/check-stage.ts';
import { keyedHash } from '../../../base/keyed-hash.ts';
import type { KeptOutList } from '../../../wire/contract/kept-out.ts';
import type { RunOptions } from '../../run/run.ts';

const options: Partial<RunOptions> = {
  format: 'mapping',
  formatOptions: { mapping: JSON.stringify({ event: 'event', distinct_id: 'user', timestamp: 'at', uuid: 'id' }) },
};
const hashKey = 'key of the project';
const listOf = (...ids: readonly string[]): KeptOutList => ({
  hashKey,
  hashes: ids.map((id) => keyedHash(hashKey, id)),
});
const ids = ['12345678901234567890', "ada'\\é", 'grace', '1234567890123456789'];
const lines = Array.from({ length: 120 }, (_, n) => {
  const at = new Date(Date.UTC(2024, 0, 1 + (n % 5), 12, 0, n % 60)).toISOString();
  return JSON.stringify({ id: `r${n}`, event: 'seen', user: ids[n % ids.length], at });
});

describe('the check of an import into a project that keeps ids out', () => {
  it('skips their records with a reason, and keeps all others, in one thread and in several', async () => {
    const results: unknown[] = [];
    for (const threads of [1, 3]) {
      await using test = await checkTest(options);
      await test.stage('file', lines, 20);
      const keptOut = async (): Promise<KeptOutList> => listOf("ada'\\é", '12345678901234567890');
      const result = await test.check({ keptOut, threads, limits: { threadBytesMin: 1 } });
      const { records, skipped, rejected, events, events_read: read, left_out: excluded } = result.totals;
      const reason = 'an erased id is kept out (id_kept_out)';
      expect({ records, skipped, rejected, events, read, excluded }).toEqual({
        records: 120,
        skipped: { [reason]: 60 },
        rejected: 0,
        events: 60,
        read: 120,
        excluded: { [reason]: 60 },
      });
      const stored = await test.events();
      expect(new Set(stored.map(({ distinct_id: id }) => id))).toEqual(new Set(['grace', '1234567890123456789']));
      expect(stored).toHaveLength(60);
      results.push([result.totals, await test.lines()]);
    }
    expect(results[1]).toEqual(results[0]);
  });

  it('changes nothing without a list', async () => {
    await using test = await checkTest(options);
    await test.stage('file', lines, 20);
    const result = await test.check({ keptOut: async () => undefined });
    expect([result.totals.events, result.totals.skipped]).toEqual([120, {}]);
  });
});
