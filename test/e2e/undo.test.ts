/**
 * Real: the whole program as processes, SQLite, chDB, files, HTTP. Doubled: nothing. Observed: what lies in the stores of two
 * services once they are stopped. The one that never saw the run is the oracle.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stateOfStopped } from '../support/project-state.ts';
import { personalKey, projectKey, startServer, tempDataDir, untilStored, type TestServer } from '../support/server.ts';
import { untilDrained } from '../../tools/bench/server.ts';
import {
  createUndoConfigs,
  importAll,
  sendLive,
  undoClient,
  undoFailpoints,
  untilState,
  writeUndoHistory,
} from '../support/undo-worlds.ts';

const keys = { project: projectKey, personal: personalKey };
const recordsPerRun = 1200;
/** Beside the failpoints. */
const randomKills = 3;

const clientOf = (server: TestServer) => undoClient(server, keys);

interface UndoPlan {
  readonly events: number;
  readonly other_runs: readonly { readonly id: string; readonly what: string }[];
}

it('undo of one of three overlapping runs over live data, killed ten times, ends as in a service without that run', async () => {
  await using mine = await tempDataDir();
  await using reference = await tempDataDir();
  const history = await writeUndoHistory(join(mine.path, 'history'), recordsPerRun);

  let server = await startServer(mine.path);
  let client = clientOf(server);
  await sendLive(server, keys, history.before);
  await untilStored(server, { standard: history.before.length });
  const configs = await createUndoConfigs(server, client, history.files);
  const runs: { path: string; id: string }[] = [];
  for (const config of configs) runs.push(await importAll(client, config));
  await sendLive(server, keys, history.after);
  const [first, undone, third] = runs;
  if (first === undefined || undone === undefined || third === undefined) throw new Error('expected three runs');
  await untilDrained(server.url, 60_000);
  const plan = await client.post<UndoPlan>(`${undone.path}undo/`, { dry_run: true });
  expect(plan.events).toBeGreaterThan(500);
  expect(plan.other_runs.map(({ id, what }) => [id, what]).sort()).toEqual(
    [first, third].map(({ id }) => [id, 'loads_again']).sort(),
  );
  expect(await client.post(`${undone.path}undo/`)).toMatchObject({ stage: 'undo' });
  await server.kill();
  for (const failAt of undoFailpoints) {
    const env = { MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' };
    server = await startServer(mine.path, env, { waitForReady: false });
    if (server.child.signalCode === null) await once(server.child, 'exit');
    expect([failAt, server.child.signalCode]).toEqual([failAt, 'SIGKILL']);
  }
  for (let kills = 0; kills < randomKills; kills += 1) {
    server = await startServer(mine.path, {}, { waitForReady: false });
    await delay(Math.random() * 500);
    await server.kill();
  }
  server = await startServer(mine.path);
  client = clientOf(server);
  await untilState(client, undone.path, 'undone');
  for (const { path } of [first, third]) await untilState(client, path, 'completed');
  const report = await client.get<{ undo: { rows_left: number; exceptions: string[]; loaded_again: string[] } }>(
    `${undone.path}report/`,
  );
  expect(report.undo).toMatchObject({ rows_left: 0, exceptions: [] });
  expect([...report.undo.loaded_again].sort()).toEqual([first.id, third.id].sort());
  await untilDrained(server.url, 60_000);
  await server.terminate();

  const other = await startServer(reference.path);
  const otherClient = clientOf(other);
  await sendLive(other, keys, history.before);
  await untilStored(other, { standard: history.before.length });
  const otherConfigs = await createUndoConfigs(other, otherClient, history.files);
  const otherFirst = await importAll(otherClient, otherConfigs[0] ?? '');
  const otherThird = await importAll(otherClient, otherConfigs[2] ?? '');
  await sendLive(other, keys, history.after);
  await untilDrained(other.url, 60_000);
  await other.terminate();

  const got = await stateOfStopped(mine.path, { runs: [first.id, third.id], repeated: history.repeated });
  const expected = await stateOfStopped(reference.path, {
    runs: [otherFirst.id, otherThird.id],
    repeated: history.repeated,
  });
  expect(got.events.length).toBe(expected.events.length);
  expect(got.events).toEqual(expected.events);
  expect(got.persons).toEqual(expected.persons);
  expect(got.groups).toEqual(expected.groups);
  expect(got.groups.length).toBeGreaterThan(10);
  expect(got.usage).toEqual(expected.usage);
}, 900_000);
