/**
 * Proves that runs go through their tables exactly: `npm run prove -- run-tables [kills] [seed]`, 300 kills by default.
 *
 * Runs of 6,000 rows over six months, some identities repeated, are written to their tables and attached to `events`, while kill -9
 * hits the embedded engine: every second time between two statements, else in the middle of one, at a random moment. After each kill
 * the run begins again, as by a process that has noted nothing. Exits with 0 when each row was in the table once and is in `events`
 * once, by counts and checksums.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunRef } from '../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../src/stores/events/rows.ts';
import { tempChdb } from '../../test/support/chdb.ts';
import { seededRandom } from '../../test/support/draw.ts';
import { runThroughKills, type Kill } from '../../test/support/run-table-kills.ts';
import { runRow } from '../../test/support/run-table-rows.ts';

const [killsText = '300', seedText = String(Date.now() % 1_000_000)] = process.argv.slice(2);
const [killsWanted, seed] = [Number(killsText), Number(seedText)];
const killsOfRun = 6;
const [segments, rowsOfSegment, months] = [3, 2000, 6];
const statements = 1 + segments + months + 1;
const random = seededRandom(seed);
const started = performance.now();

const root = await mkdtemp(join(tmpdir(), 'millrace-prove-run-tables-'));
try {
  let [kills, interrupted] = [0, 0];
  for (let n = 1; kills < killsWanted; n++) {
    const killsNow = Math.min(killsOfRun, killsWanted - kills);
    interrupted += await proveRun({ projectId: n, runId: `prove-${seed}-${n}` }, killsNow);
    kills += killsNow;
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(5);
    console.log(`${seconds} s  run ${n}: exact after ${kills} kills, of which ${interrupted} interrupted a run`);
  }
  console.log(`exact: ${kills} kills, seed ${seed}`);
} finally {
  await rm(root, { recursive: true, force: true });
}

/** Answers how many of the kills interrupted the run. */
async function proveRun(run: RunRef, kills: number): Promise<number> {
  // A separate engine for each run: a supervisor waits longer after each kill.
  const chdb = await tempChdb({}, root);
  try {
    const rows = segmentsOf(run);
    const begun = performance.now();
    await runThroughKills(chdb, { run, segments: rows }, []);
    const wholeMs = performance.now() - begun;
    const moments = Array.from({ length: kills }, (_, at): Kill =>
      at % 2 === 0
        ? { beforeStatement: Math.floor(random() * (statements + 1)) }
        : { afterMs: Math.floor(random() * wholeMs) },
    );
    return await runThroughKills(chdb, { run, segments: rows }, moments);
  } finally {
    await chdb.close();
  }
}

/** Each segment repeats a tenth of the one before, with other places. */
function segmentsOf(run: RunRef): EventRow[][] {
  const all: EventRow[][] = [];
  for (let segment = 0; segment < segments; segment++) {
    const rows = Array.from({ length: rowsOfSegment }, (_, at) => {
      const more = { keyDay: 19_000 + (at % months) * 31, distinctId: `user-${at % 99}` };
      const row = runRow(run, segment * rowsOfSegment + at, more);
      const repeated = at % 10 === 0 ? all.at(-1)?.[at] : undefined;
      return repeated === undefined ? row : { ...row, uuid: repeated.uuid };
    });
    all.push(rows);
  }
  return all;
}
