/**
 * Real: the whole program as processes, SQLite, chDB, files, HTTP. Doubled: nothing. Observed: what is in the stores once the service is
 * stopped. Projects of the same service that never had the undone runs are the oracle.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ImportRunRecord } from '../../src/wire/contract/import-runs.ts';
import { stateOfStopped } from '../support/project-state.ts';
import { personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';
import {
  createUndoConfigs,
  importAll,
  sendLive,
  undoClient,
  untilState,
  writeUndoHistory,
  type UndoClient,
  type UndoHistory,
} from '../support/undo-worlds.ts';
import { untilDrained } from '../../tools/bench/server.ts';

const recordsPerRun = 300;
/** Of the exports 0, 1 and 2, in the order in which their runs are undone; each is undone first, second and never. */
const orders = [
  [0, 2],
  [2, 1],
  [1, 0],
] as const;
const all = [0, 1, 2];
const env = { MILLRACE_IMPORT_RUNS: '3' };

interface World {
  readonly project: number;
  readonly token: string;
  readonly configs: readonly string[];
  /** Runs by export. */
  readonly runs: Map<number, { readonly path: string; readonly id: string }>;
}

async function createWorld(server: TestServer, client: UndoClient, history: UndoHistory): Promise<World> {
  const { id: project, api_token: token } = await client.post<{ id: number; api_token: string }>('/api/projects/', {
    name: 'World',
  });
  const configs = await createUndoConfigs(server, client, history.files, project);
  return { project, token, configs, runs: new Map() };
}

/** Waits for the end of the undo. Returns the completed share whenever it waited for another run. */
async function sharesOfUndo(client: UndoClient, path: string): Promise<number[]> {
  await client.post(`${path}undo/`);
  const shares: number[] = [];
  for (;;) {
    const { state, reason, stages, waiting } = await client.get<ImportRunRecord>(path);
    if (state === 'undone') return shares;
    if (state === 'failed') throw new Error(reason);
    const share = stages.find(({ stage }) => stage === 'undo')?.share;
    if (waiting?.reason.includes('is loading the events again') === true) shares.push(share ?? Number.NaN);
    await delay(100);
  }
}

it('undo of each of three overlapping runs over live data, in any order, ends as in a project without them', async () => {
  await using dataDir = await tempDataDir();
  const history = await writeUndoHistory(join(dataDir.path, 'history'), recordsPerRun);
  let server = await startServer(dataDir.path, env);
  const client = (): UndoClient => undoClient(server, { project: '', personal: personalKey });
  const worlds: World[] = [];
  for (let count = 0; count < 3 * orders.length; count += 1) {
    worlds.push(await createWorld(server, client(), history));
  }
  // For each order: the project of the undos, and what it equals after the first and after the second one.
  const kept = orders.flatMap(([first, second]) => [
    all,
    all.filter((each) => each !== first),
    all.filter((each) => each !== first && each !== second),
  ]);
  for (const { token } of worlds) await sendLive(server, { project: token, personal: personalKey }, history.before);
  await untilDrained(server.url, 60_000);
  await Promise.all(
    worlds.map(async ({ configs, runs }, index) => {
      for (const each of kept[index] ?? []) runs.set(each, await importAll(client(), configs[each] ?? ''));
    }),
  );
  for (const { token } of worlds) await sendLive(server, { project: token, personal: personalKey }, history.after);
  await untilDrained(server.url, 60_000);

  const stateOf = ({ project, runs }: World) => {
    const ids = [...runs].toSorted(([a], [b]) => a - b).map(([, { id }]) => id);
    return stateOfStopped(dataDir.path, { runs: ids, repeated: history.repeated, project });
  };
  const shares: number[] = [];
  for (const step of [0, 1] as const) {
    for (const [index, order] of orders.entries()) {
      const { runs } = worlds[3 * index] as World;
      const undone = runs.get(order[step]);
      runs.delete(order[step]);
      shares.push(...(await sharesOfUndo(client(), undone?.path ?? '')));
      for (const { path } of runs.values()) await untilState(client(), path, 'completed');
    }
    await untilDrained(server.url, 60_000);
    await server.terminate();
    for (const [index, order] of orders.entries()) {
      const got = await stateOf(worlds[3 * index] as World);
      const expected = await stateOf(worlds[3 * index + 1 + step] as World);
      expect(got.events.length).toBeGreaterThan(recordsPerRun);
      // Names the undone exports if they differ.
      const undone = order.slice(0, step + 1);
      expect({ undone, ...got }).toEqual({ undone, ...expected });
    }
    if (step === 0) server = await startServer(dataDir.path, env);
  }
  expect(shares.length).toBeGreaterThan(0);
  expect(shares.filter((share) => !(share < 1))).toEqual([]);
}, 900_000);
