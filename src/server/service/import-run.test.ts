import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAccount } from '../../../test/support/metadata-rows.ts';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { newRun, runOptions, start } from '../../../test/support/runs.ts';
import { freePort } from '../../../test/support/server.ts';
import { loadSettings } from '../config/load.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import { claimRun, type Claim } from '../../imports/run/claim-run.ts';
import { createRunWriter } from '../../imports/run/run-writer.ts';
import { createRun } from '../../imports/run/run-store.ts';
import { postgres } from '../../imports/sources/postgres.ts';
import { openDirStaging } from '../../imports/staging/open-staging.ts';
import { createDiskQuota } from '../../imports/stages/export/disk-quota.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { createConfig } from '../../plugins/configs/create-config.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { createLog } from '../telemetry/log.ts';
import { createImportStages } from './import-run.ts';

const clock = { now: () => start };
const unused = async (): Promise<never> => {
  throw new Error('expected no call to get this far');
};

const unusedStore: RunStore = {
  insertBatch: unused,
  deleteRun: unused,
  removeExpired: unused,
  erase: unused,
  query: unused,
  waitForReplicas: unused,
  health: unused,
  close: unused,
  runTables: {
    create: unused,
    list: unused,
    drop: unused,
    insert: unused,
    attach: unused,
    partitions: unused,
    orderFacts: unused,
    orderedFacts: unused,
    countOrderedFacts: unused,
  },
};

/** A worker's run of the PostgreSQL source with these settings. */
async function claimPostgresRun(db: Metadata, settings: object): Promise<Claim> {
  const { organizationId } = await createAccount(db);
  const { id: projectId } = await createProject(db, { organizationId, name: 'Shop' }, start);
  await syncPlugins(db, [postgres], start);
  const { id: plugin } = await db.selectFrom('plugins').select('id').executeTakeFirstOrThrow();
  const actor = { organizationId, userId: null, keyId: null, requestId: null };
  const { id: configId } = await db
    .transaction()
    .execute((tx) => createConfig({ tx, actor, projectId, now: start, trial: () => '' }, 'import-app', { plugin }));
  await db
    .updateTable('plugin_configs')
    .set({ settings: JSON.stringify(settings) })
    .execute();
  const options = { ...runOptions, preflight: false } as const;
  await createRun(db, newRun({ projectId, configId, source: postgres.slug, options }));
  const claim = await claimRun(db, start, 60_000);
  if (claim === undefined) throw new Error('expected the run to be due');
  return claim;
}

/** Returns why the export waits, or rejects with why it ended. `allow` as in MILLRACE_OUTBOUND_ALLOW. */
async function exportWaits(
  db: Metadata,
  claim: Claim,
  { allow, dir }: { allow: string; dir: string },
): Promise<string> {
  const staging = await openDirStaging(join(dir, 'staging'));
  const stop = new AbortController();
  const waits = Promise.withResolvers<string>();
  const leased = createRunWriter({ db, clock, signal: stop.signal }, claim);
  const stages = createImportStages(
    {
      db,
      store: unusedStore,
      staging,
      quota: createDiskQuota({ staging, budgetBytes: 0, freeBytes: async () => undefined }),
      settings: loadSettings({ env: {} }).settings,
      dirs: { staging: '', temp: join(dir, 'temp'), uploads: '', allowed: [] },
      clock,
      log: createLog('silent'),
      failpoint: () => undefined,
      allow: parseAllowList(allow),
      fetch: unused,
      stream: unused,
      place: () => {
        throw new Error('expected no code to run');
      },
      call: unused,
      waitUntilStored: unused,
      turns: unused,
    },
    claim.run,
  );
  const ended = stages.export({ ...leased, waiting: (waiting) => waits.resolve(waiting?.reason ?? '') });
  try {
    return await Promise.race([waits.promise, ended.then(() => 'nothing')]);
  } finally {
    stop.abort();
    await ended.catch(() => undefined);
  }
}

it('a run reaches a database at a permitted port; at another one it reports what to permit', async () => {
  await using store = await tempMetadata();
  const { db } = store;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-import-run-'));
  try {
    // Nothing listens there: an attempt proves that it is reached.
    const port = await freePort();
    const place = { host: '127.0.0.1', port: String(port), database: 'd', user: 'u', password: 'p' };
    const claim = await claimPostgresRun(db, { ...place, query: 'select 1', cursor_column: 'c' });
    expect(await exportWaits(db, claim, { allow: `127.0.0.1:${port}`, dir })).toContain(
      `ECONNREFUSED 127.0.0.1:${port}`,
    );
    await expect(exportWaits(db, claim, { allow: `127.0.0.1:${port + 1}`, dir })).rejects.toThrow(
      `an operator adds 127.0.0.1:${port} to MILLRACE_OUTBOUND_ALLOW`,
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
