import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { receivedAt } from '../../support/pipeline.ts';
import { windowOf } from '../../support/window.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { createOrganization } from '../../../src/stores/metadata/organizations.ts';
import {
  addRebuildKeys,
  beginRebuild,
  findRebuild,
  rebuildKeys,
  saveRebuild,
  type Rebuild,
} from '../../../src/stores/metadata/profile-rebuilds.ts';
import { createProject } from '../../../src/stores/metadata/projects.ts';
import { seizeSlot, SlotLostError, type SlotHold } from '../../../src/stores/metadata/slot-leases.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { notePending } from '../../../src/pipeline/cursors.ts';
import { ProfileRebuilder } from '../../../src/pipeline/rebuild/profile-rebuilder.ts';
import { storeWindow, writeWindow } from '../../../src/pipeline/store-window.ts';
import { keepLog, OtherLogError } from '../../../src/pipeline/slots/slot-consumers.ts';
import type { OpenStore } from './storm.ts';

interface Scene {
  readonly db: Metadata;
  readonly projectId: number;
  readonly inserted: string[];
}

type Write = (scene: Scene, hold: SlotHold) => Promise<unknown>;

/** Everything that a consumer writes to the metadata store. */
const writes: Readonly<Record<string, Write>> = {
  'record a range': ({ db }, hold) => notePending(db, hold, 'live', 1),
  'store a window': (scene, hold) => storeWindow({ ...storeDepsOf(scene), hold }, windowOf(scene.projectId)),
  'commit a recorded and inserted window': ({ db, projectId }, hold) =>
    db.transaction().execute((tx) => writeWindow(tx, hold, windowOf(projectId), receivedAt)),
  'check whether a window could be committed': ({ db, projectId }, hold) =>
    db.transaction().execute(async (tx) => {
      await writeWindow(tx, hold, windowOf(projectId), receivedAt);
      throw new Error('kept nothing');
    }),
  'adopt the log of the slot': ({ db }, hold) => keepLog(db, hold, 'log'),
  'run a step of a rebuild of persons': async (scene, hold) =>
    rebuilderOf(scene, hold).step(await rebuild(scene, 'of one')),
  'run a step of a rebuild in a spread project': async (scene, hold) => {
    await scene.db.updateTable('projects').set({ spread_max: 2 }).execute();
    await rebuilderOf(scene, hold).step(await rebuild(scene, 'of one'));
  },
  'end a rebuild of persons': async (scene, hold) => rebuilderOf(scene, hold).step(await rebuild(scene, 'of none')),
  'record why a rebuild cannot continue': async (scene, hold) =>
    rebuilderOf(scene, hold, new Error('the store is unavailable')).step(await rebuild(scene, 'of one')),
};

function storeDepsOf({ db, inserted }: Scene) {
  return {
    db,
    reader: { commit: () => undefined },
    clock: { now: () => receivedAt },
    failpoint: () => undefined,
    insert: async ({ token }: { readonly token: string }) => void inserted.push(token),
  };
}

function rebuilderOf({ db }: Scene, hold: SlotHold, failure?: Error): ProfileRebuilder {
  const query = async (): Promise<never[]> => {
    if (failure !== undefined) throw failure;
    return [];
  };
  const refuse = async (): Promise<never> => {
    throw new Error('a rebuild only reads events');
  };
  const store = {
    query,
    insertBatch: refuse,
    deleteRun: refuse,
    erase: refuse,
    removeExpired: refuse,
    waitForReplicas: async () => undefined,
    health: refuse,
    close: refuse,
  };
  return new ProfileRebuilder({ db, hold, store, log: createLog('silent'), failpoint: () => undefined });
}

async function begin({ db, projectId }: Scene, id: string, keys: readonly string[]): Promise<void> {
  await beginRebuild(db, { id, projectId, detail: null, now: receivedAt });
  await addRebuildKeys(db, { id, projectId }, 'person', keys);
  await saveRebuild(db, id, { state: 'due' });
}

async function rebuild({ db }: Scene, id: string): Promise<Rebuild> {
  const found = await findRebuild(db, id);
  if (found === undefined) throw new Error(`expected a rebuild ${id}`);
  return found;
}

/** Returns every row of the tables that a consumer writes. */
async function rowsOf(db: Metadata): Promise<unknown> {
  const tables = ['slots', 'log_cursors', 'persons', 'profile_rebuilds', 'profile_rebuild_keys'];
  const found = tables.map(async (table) => [table, (await sql`select * from ${sql.table(table)}`.execute(db)).rows]);
  return await Promise.all(found);
}

/** What a worker attempts after another one has claimed its slot. */
export function testFence(open: OpenStore): void {
  describe('a worker that has lost its slot', () => {
    let store: Awaited<ReturnType<OpenStore>>;
    let scene: Scene;
    let hold: SlotHold;
    beforeEach(async () => {
      store = await open();
      const { db } = store;
      const organization = await createOrganization(db, { name: 'Own' }, receivedAt);
      const { id: projectId } = await createProject(db, { organizationId: organization.id, name: 'p' }, receivedAt);
      scene = { db, projectId, inserted: [] };
      await begin(scene, 'of one', ['p']);
      await begin(scene, 'of none', []);
      hold = await seizeSlot(db, 0, 'first');
    });
    afterEach(() => store[Symbol.asyncDispose]());

    it.each(Object.entries(writes))('cannot %s', async (_, write) => {
      await seizeSlot(scene.db, 0, 'second');
      const before = await rowsOf(scene.db);
      await expect(write(scene, hold)).rejects.toBeInstanceOf(SlotLostError);
      expect(await rowsOf(scene.db)).toEqual(before);
      expect(scene.inserted).toEqual([]);
    });

    it('a slot does not continue in another log than that of its cursors', async () => {
      await keepLog(scene.db, hold, 'first');
      await keepLog(scene.db, hold, 'second');
      await scene.db.updateTable('log_cursors').set({ seq: 1 }).where('lane', '=', 'historical').execute();
      await keepLog(scene.db, hold, 'second');
      await expect(keepLog(scene.db, hold, 'third')).rejects.toBeInstanceOf(OtherLogError);
    });

    it('a rebuild of persons works in a spread project', async () => {
      await scene.db.updateTable('projects').set({ spread_max: 2 }).execute();
      const due = await rebuild(scene, 'of one');
      await rebuilderOf(scene, hold).step(due);
      expect(await findRebuild(scene.db, due.id)).toMatchObject({ error: '', counts: { persons_before: 0 } });
      expect(await rebuildKeys(scene.db, due.id, 'person', 10)).toEqual([]);
    });

    it.each(Object.entries(writes))('could %s before', async (_, write) => {
      const error: unknown = await write(scene, hold).catch((cause: unknown) => cause);
      expect(error).not.toBeInstanceOf(SlotLostError);
    });
  });
}
