/**
 * Proves the retention of events: `npm run prove -- retention [--rows 10000000]`. A history of 36 months with two projects, several names,
 * live and historical events is generated into an embedded store. The nightly pass then removes whole months, and after that names and kinds
 * with other days. What the preview shows, what is removed and what remains must equal what is computed from the generator, by number
 * and by identity; the disk must be freed; and a pass over whole months must take less than 10 CPU-seconds.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { removeExpiredIfDue } from '../../src/pipeline/remove-expired.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics } from '../../src/server/telemetry/metrics.ts';
import { countExpired } from '../../src/stores/events/expired-counts.ts';
import { expiryOf, keepAll } from '../../src/stores/events/retention-policy.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { savePolicy } from '../../src/stores/metadata/retention-policies.ts';
import type { RetentionPolicy } from '../../src/wire/contract/retention.ts';
import { tempChdb } from '../../test/support/chdb.ts';
import { createAccount } from '../../test/support/metadata-rows.ts';
import { tempMetadata } from '../../test/support/metadata.ts';
import {
  eventsOf,
  historyNow,
  historyProjects,
  insertHistory,
  mixed,
  splitHistory,
  storedHistory,
  wholeMonths,
  type Cells,
} from '../../test/support/retention-history.ts';

type Policies = ReadonlyMap<number, RetentionPolicy>;

const dayMs = 86_400_000;
const cpuSecondsMax = 10;
const ticksPerSecond = 100;

const { values } = parseArgs({ options: { rows: { type: 'string', default: '10000000' } } });
const rows = Number(values.rows);
let failures = 0;

const empty = await tempChdb();
await empty.store.close();
await empty.supervisor.close();
const filling = performance.now();
await insertHistory(empty.dir, rows);
console.log(`inserted ${rows} rows in ${seconds(performance.now() - filling)} s`);

const chdb = await tempChdb({ queryTimeoutMs: 120_000 }, empty.root);
await using metadata = await tempMetadata();
const { organizationId } = await createAccount(metadata.db);
for (const project of historyProjects) {
  const { id } = await createProject(metadata.db, { organizationId, name: `Project ${project}` }, historyNow);
  check('a project has the number of the generator', id, project);
}
try {
  await settled();
  check('the store holds what was generated', await storedHistory(chdb.store), splitHistory(rows, new Map()).kept);
  await pass('whole months', wholeMonths, true);
  await pass('names and kinds with other days', mixed, false);
} finally {
  await chdb.close();
  execFileSync('rm', ['-rf', empty.root]);
}
console.log(failures === 0 ? 'proved' : `${failures} checks failed`);
process.exitCode = failures === 0 ? 0 : 1;

async function pass(title: string, policies: Policies, isCheap: boolean): Promise<void> {
  console.log(`\n${title}`);
  const stored = await storedHistory(chdb.store);
  const { kept } = splitHistory(rows, policies);
  const expected: Cells = new Map([...kept].filter(([key]) => stored.has(key)));
  const leaving = eventsOf(stored) - eventsOf(expected);
  const previewBegun = cpuSeconds();
  check('the preview shows what goes', await previewed(policies), leaving);
  console.log(`  preview: ${leaving} of ${eventsOf(stored)} events, ${(cpuSeconds() - previewBegun).toFixed(1)} CPU-s`);
  const before = diskBytes();
  for (const [project, policy] of policies) await savePolicy(metadata.db, project, policy, historyNow - dayMs);
  const [begun, cpuBegun] = [performance.now(), cpuSeconds()];
  const removed = await removeExpiredIfDue({
    db: metadata.db,
    store: chdb.store,
    clock: { now: async () => historyNow },
    log: createLog('info', { write: (line: string) => void console.log(`  log: ${line.trim()}`) }),
    metrics: createMetrics(),
    hour: 11,
    signal: new AbortController().signal,
  });
  const cpu = cpuSeconds() - cpuBegun;
  console.log(`  pass: ${seconds(performance.now() - begun)} s, ${cpu.toFixed(1)} CPU-s: ${JSON.stringify(removed)}`);
  check('as many rows are removed', (removed?.droppedRows ?? 0) + (removed?.deletedRows ?? 0), leaving);
  check('what remains is what the generator says', await storedHistory(chdb.store), expected);
  if (isCheap) {
    check('no part is rewritten', removed?.deletedRows, 0);
    check(`less than ${cpuSecondsMax} CPU-seconds`, cpu < cpuSecondsMax, true);
  }
  await settled();
  const after = diskBytes();
  const share = (1 - after / before).toFixed(3);
  console.log(
    `  disk: ${before} bytes before, ${after} after: ${share} freed, ${(leaving / eventsOf(stored)).toFixed(3)} of the events`,
  );
  check('the disk is freed', before - after > 0.8 * (removed?.bytes ?? 0), true);
}

async function previewed(policies: Policies): Promise<number> {
  let events = 0;
  for (const [project, policy] of policies) {
    const cells = await countExpired(
      chdb.store,
      expiryOf(project, policy, historyNow),
      expiryOf(project, keepAll, historyNow),
    );
    events += cells.reduce((sum, cell) => sum + cell.events, 0);
  }
  return events;
}

/** Waits until merges have ended and replaced parts are deleted. */
async function settled(): Promise<void> {
  const sql = `SELECT (SELECT count() FROM system.merges) AS merges,
  (SELECT count() FROM system.parts WHERE table = 'events' AND NOT active) AS old`;
  const begun = performance.now();
  for (let calm = 0; calm < 3;) {
    const [row] = await chdb.store.query<{ merges: string; old: string }>(sql);
    calm = Number(row?.merges) === 0 && Number(row?.old) === 0 ? calm + 1 : 0;
    if (performance.now() - begun > 900_000) throw new Error('expected merges to end within 15 minutes');
    await delay(1000);
  }
  console.log(`  settled after ${seconds(performance.now() - begun)} s`);
}

function diskBytes(): number {
  return Number(execFileSync('du', ['-s', '--block-size=1', chdb.dir], { encoding: 'utf8' }).split('\t')[0]);
}

/** Of this process and the engine's. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${chdb.supervisor.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const { user, system } = process.cpuUsage();
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond + (user + system) / 1e6;
}

function check(what: string, got: unknown, expected: unknown): void {
  const holds = isDeepStrictEqual(got, expected);
  if (!holds) failures += 1;
  console.log(
    `  ${holds ? 'ok    ' : 'FAILED'} ${what}${holds ? '' : `: got ${String(got)}, expected ${String(expected)}`}`,
  );
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
