/**
 * Real: the whole program and the command as separate processes, SQLite, chDB, HTTP, an installed plugin. Doubled: nothing. A few rounds of
 * `npm run prove -- storm`, one for each process that can be killed.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStorm, type Victim } from '../../tools/prove/storm/run.ts';
import { hasProc } from '../support/processes.ts';
import { tempDataDir } from '../support/server.ts';

const victims: readonly Victim[] = ['importer', 'service', 'plugins', 'store'];

it.skipIf(!hasProc)(
  'a storm of kills under live batches, history and an import stores every acknowledged event once, with its person, usage and storage',
  async () => {
    await using dir = await tempDataDir();
    await using storm = await openStorm({ dir: join(dir.path, 'storm'), seed: 20_261_123 });
    for (const victim of victims) expect(await storm.round(victim)).toBe(victim);
    expect(await storm.check()).toEqual([]);
    expect(await storm.checkAll()).toEqual([]);
    expect(storm.ledger.counts.standard).toBeGreaterThan(100);
    expect(storm.ledger.counts.historical).toBeGreaterThan(100);
  },
);
