/**
 * Proves that a run can be taken back: `npm run prove -- undo [records per run] [random kills]`.
 *
 * Two services get the same history: live events, imports that overlap, live events. One of them has a run in the middle that the
 * other never saw; it is undone there, while kill -9 hits the service at its failpoints and at random moments. In the end events,
 * persons, groups and usage of both are compared, and live events that came while persons were made anew are all there.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openSqlite } from '../../src/metadata/sqlite.ts';
import { tempChdb } from '../../test/support/chdb.ts';
import { projectState, type ProjectState } from '../../test/support/project-state.ts';
import {
  createUndoConfigs,
  importAll,
  sendLive,
  undoClient,
  undoFailpoints,
  untilState,
  writeUndoHistory,
  type UndoClient,
} from '../../test/support/undo-worlds.ts';
import { launchService, provedKeys, stopService, untilServiceReady, type ProvedService } from './proved-service.ts';

const [recordsText = '200000', killsText = '3'] = process.argv.slice(2);
const [recordsPerRun, randomKills] = [Number(recordsText), Number(killsText)];
const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-undo-'));
const started = performance.now();

interface Service extends ProvedService {
  readonly client: UndoClient;
}

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function launch(dataDir: string, env?: Readonly<Record<string, string>>): Promise<Service> {
  const service = await launchService(dataDir, env);
  return { ...service, client: undoClient(service, provedKeys) };
}

async function launchReady(dataDir: string): Promise<Service> {
  const service = await launch(dataDir);
  await untilServiceReady(service);
  return service;
}

async function untilStored({ client }: Service, standard: number): Promise<void> {
  for (const deadline = Date.now() + 600_000; Date.now() < deadline; await delay(200)) {
    const { total } = await client.get<{ total: { standard: number } }>('/api/projects/@current/events/counts/');
    if (total.standard >= standard) return;
  }
  throw new Error(`expected ${standard} live events to be stored`);
}

async function stateOf(dataDir: string, runs: readonly string[], repeated: ReadonlySet<string>): Promise<ProjectState> {
  const chdb = await tempChdb({ queryTimeoutMs: 300_000, memoryBytesMax: 2 ** 31 }, dataDir);
  const db = openSqlite(join(dataDir, 'metadata.sqlite'));
  try {
    const names = new Map(runs.map((id, index) => [id, `run-${index}`]));
    return await projectState({ store: chdb.store, db }, 1, { runs: names, grouped: true, named: false, repeated });
  } finally {
    await chdb.close();
    await db.destroy();
  }
}

interface World {
  readonly service: Service;
  readonly runs: readonly { readonly path: string; readonly id: string }[];
}

/** `which`: of the three exports. */
async function makeWorld(name: string, which: readonly number[]): Promise<World> {
  const service = await launchReady(join(dir, name));
  await sendLive(service, provedKeys, history.before);
  await untilStored(service, history.before.length);
  const configs = await createUndoConfigs(service, service.client, history.files);
  const runs: { path: string; id: string }[] = [];
  for (const index of which) {
    runs.push(await importAll(service.client, configs[index] ?? ''));
    say(`${name}: export ${index + 1} is imported`);
  }
  await sendLive(service, provedKeys, history.after);
  return { service, runs };
}

/** Returns how often the service was killed. */
async function undoUnderKills(world: World, path: string): Promise<{ service: Service; kills: number }> {
  const { dataDir } = world.service;
  await world.service.client.post(`${path}undo/`);
  await stopService(world.service, 'SIGKILL');
  let kills = 1;
  for (const failAt of [...undoFailpoints.slice(0, 5), ...midway, ...undoFailpoints.slice(5)]) {
    const service = await launch(dataDir, { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' });
    const died = once(service.child, 'exit');
    if ((await Promise.race([died, delay(180_000)])) === undefined) {
      say(`not reached within three minutes: ${failAt}`);
      await stopService(service, 'SIGKILL');
    }
    kills += 1;
    say(`killed at ${failAt}`);
  }
  for (let random = 0; random < randomKills; random += 1) {
    const service = await launch(dataDir);
    await delay(1000 + Math.random() * 4000);
    await stopService(service, 'SIGKILL');
    kills += 1;
  }
  return { service: await launchReady(dataDir), kills };
}

/** Pieces of the persons, where there are enough of them. */
const midway = recordsPerRun >= 20_000 ? ['rebuild_computed:2', 'rebuild_committed:3'] : [];
const history = await writeUndoHistory(join(dir, 'history'), recordsPerRun);
say(`${recordsPerRun} records per run, ${history.before.length} live events before and after`);
const mine = await makeWorld('mine', [0, 1, 2]);
const [first, undone, third] = mine.runs;
if (first === undefined || undone === undefined || third === undefined) throw new Error('expected three runs');
const undoAt = performance.now();
const { service, kills } = await undoUnderKills(mine, undone.path);
await untilState(service.client, undone.path, 'undone');
say(`undone in ${((performance.now() - undoAt) / 1000).toFixed(0)} s with ${kills} kills`);
for (const { path } of [first, third]) await untilState(service.client, path, 'completed');
const { undo } = await service.client.get<{ undo: { exceptions: string[]; persons: object } }>(`${undone.path}report/`);
say(`exceptions: ${JSON.stringify(undo.exceptions)}, persons ${JSON.stringify(undo.persons)}`);
await untilStored(service, history.before.length + history.after.length);
await stopService(service, 'SIGTERM');

const reference = await makeWorld('reference', [0, 2]);
await untilStored(reference.service, history.before.length + history.after.length);
await stopService(reference.service, 'SIGTERM');

const got = await stateOf(mine.service.dataDir, [first.id, third.id], history.repeated);
const expected = await stateOf(
  reference.service.dataDir,
  reference.runs.map(({ id }) => id),
  history.repeated,
);
let different = 0;
for (const kind of ['events', 'persons', 'groups'] as const) {
  const [left, right] = [new Set(got[kind]), new Set(expected[kind])];
  const more = got[kind].filter((line) => !right.has(line));
  const missing = expected[kind].filter((line) => !left.has(line));
  different += more.length + missing.length;
  console.log(`${kind}: ${got[kind].length} and ${expected[kind].length}, ${more.length + missing.length} differ`);
  for (const line of [
    ...more.slice(0, 3).map((text) => `+ ${text}`),
    ...missing.slice(0, 3).map((text) => `- ${text}`),
  ]) {
    console.log(`  ${line.slice(0, 400)}`);
  }
}
const sameUsage = JSON.stringify(got.usage) === JSON.stringify(expected.usage);
console.log(`usage: ${JSON.stringify(got.usage)} and ${JSON.stringify(expected.usage)}`);
console.log(different === 0 && sameUsage ? `equal, after ${kills} kills` : 'NOT EQUAL');
if (different === 0 && sameUsage) rmSync(dir, { recursive: true, force: true });
else {
  console.log(`kept: ${dir}`);
  process.exitCode = 1;
}
