import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import { tempChdb } from '../../../test/support/chdb.ts';
import { seededRandom } from '../../../test/support/draw.ts';
import { runThroughKills, type Kill } from '../../../test/support/run-table-kills.ts';
import { statementsOf } from '../../../test/support/run-table-pass.ts';
import { say } from '../say.ts';
import { segmentsOf } from './segments.ts';

const killsOfRun = 6;
const shape = { segments: 3, rowsOfSegment: 2000, months: 6 };

/** Kills the embedded engine while runs pass through their tables. Rejects if one is not exact. */
export async function proveEngineKills(killsWanted: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const root = await mkdtemp(join(tmpdir(), 'millrace-prove-run-tables-'));
  try {
    let [kills, interrupted] = [0, 0];
    for (let n = 1; kills < killsWanted; n++) {
      const killsNow = Math.min(killsOfRun, killsWanted - kills);
      interrupted += await proveRun(root, { projectId: n, runId: `prove-${seed}-${n}` }, { kills: killsNow, random });
      kills += killsNow;
      say(`run ${n}: exact after ${kills} kills, of which ${interrupted} interrupted a run`);
    }
    console.log(`exact: ${kills} kills, seed ${seed}`);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

interface Kills {
  readonly kills: number;
  readonly random: () => number;
}

/** Returns how many of the kills interrupted the run. */
async function proveRun(root: string, run: RunRef, { kills, random }: Kills): Promise<number> {
  // A separate engine for each run: a supervisor waits longer after each kill.
  const chdb = await tempChdb({}, root);
  try {
    const passing = { run, segments: segmentsOf(run, shape) };
    const begun = performance.now();
    await runThroughKills(chdb, passing, []);
    const wholeMs = performance.now() - begun;
    const steps = statementsOf(passing, shape.months) + 1;
    const moments = Array.from({ length: kills }, (_, at): Kill =>
      at % 2 === 0 ? { beforeStatement: Math.floor(random() * steps) } : { afterMs: Math.floor(random() * wholeMs) },
    );
    return await runThroughKills(chdb, passing, moments);
  } finally {
    await chdb.close();
  }
}
