import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, newProject, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { testBucketServer } from '../../../test/support/bucket-server.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { isoMicros } from '../../base/clock.ts';
import { openDirStaging } from '../../imports/staging/open-staging.ts';
import { TaskLostError, type HeldTask, type TaskKind } from '../../queue/tasks/task.ts';
import type { EventRow } from '../events/rows.ts';
import { isoOfMicros } from '../events/micros.ts';
import type { ExportProgress, ExportResult, ExportSpec } from '../../wire/contract/exports.ts';
import { exportKind, type ExportDeps, type PlaceOf } from './run-export.ts';
import { openS3Place } from './places/s3-place.ts';
import { stagedPlace } from './places/staged-place.ts';

const start = Date.UTC(2026, 10, 28, 3);
const dayMicros = 86_400_000_000;
const texts = [
  '{"n":12345678901234567890,"f":1.50,"e":1e400}',
  '{"text":"a \\"quote\\", a comma\\nand a line","zero":-0}',
  '{ "spaced" : [ 1 , 2 ] ,\n"__proto__":{"x":1}}',
  '{"$set":{"plan":"prö 😀"},"$elements_chain":"a:b;c"}',
  '{}',
];
const names = ['$pageview', 'order "paid"', 'Ünï,code', '__proto__'];
const ids = ['user-1', '\u0000nul', 'a\tb', '  spaced ', "o'brien"];

let chdb: TempChdb;
let metadata: Awaited<ReturnType<typeof tempMetadata>>;
beforeAll(async () => {
  chdb = await tempChdb();
  metadata = await tempMetadata();
});
afterAll(async () => {
  await chdb.close();
  await metadata[Symbol.asyncDispose]();
});

/** Events of three days, received before the start. */
function history(project: number, count: number, more: (i: number) => Partial<EventRow> = () => ({})): EventRow[] {
  return Array.from({ length: count }, (_, i) => {
    const at = (20_000 + (i % 3)) * dayMicros + i * 1_000_003;
    return testRow(project, {
      uuid: `00000000-0000-4000-8000-${String((i * 7919) % 1_000_000).padStart(12, '0')}`,
      event: names[i % names.length] as string,
      distinctId: ids[i % ids.length] as string,
      properties: texts[i % texts.length] as string,
      timestampMicros: at,
      keyDay: Math.floor(at / dayMicros),
      receivedAtMicros: start * 1000 - 2 - i,
      historical: i % 2 === 0,
      ...more(i),
    });
  });
}

interface World extends AsyncDisposable {
  readonly dir: string;
  readonly progress: () => ExportProgress | undefined;
  run(spec: Partial<ExportSpec>, more?: Partial<ExportDeps>): Promise<ExportResult>;
  /** As after a cancellation. */
  cleanUp(spec: Partial<ExportSpec>, more?: Partial<ExportDeps>): Promise<void>;
  files(): Promise<Record<string, Buffer>>;
}

async function worldOf(projectId: number, secrets: Readonly<Record<string, string>> = {}): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'export-test-'));
  const staging = await openDirStaging(dir);
  let saved: string | undefined;
  const progress = (): ExportProgress | undefined =>
    saved === undefined ? undefined : (JSON.parse(saved) as ExportProgress);
  const kindWith = (more: Partial<ExportDeps> | undefined): TaskKind =>
    exportKind({
      db: metadata.db,
      store: chdb.store,
      now: () => start,
      waitUntilStored: async () => undefined,
      openPlace: async ({ id }) => stagedPlace(staging, id, async () => undefined),
      failpoint: () => undefined,
      ...more,
    });
  const taskOf = (more: Partial<ExportSpec>): HeldTask<unknown, unknown> => ({
    id: 'task',
    projectId,
    spec: {
      tables: ['events'],
      selection: {},
      format: 'ndjson',
      shape: 'millrace',
      compression: 'none',
      rows_per_part: 10,
      destination: { kind: 'service' },
      ...more,
    } satisfies ExportSpec,
    secrets,
    progress: progress(),
    signal: new AbortController().signal,
    save: async (next) => void (saved = JSON.stringify(next)),
    commit: () => Promise.reject(new Error('an export commits nothing')),
    waiting: async () => undefined,
  });
  return {
    dir,
    progress,
    run: async (spec, more) => (await kindWith(more).run(taskOf(spec))) as ExportResult,
    cleanUp: async (spec, more) => kindWith(more).cleanUp?.(taskOf(spec)),
    files: async () => {
      const found = await readdir(join(dir, 'task'));
      return Object.fromEntries(
        await Promise.all(found.map(async (name) => [name, await readFile(join(dir, 'task', name))])),
      );
    },
    [Symbol.asyncDispose]: async () => rm(dir, { recursive: true, force: true }),
  };
}

/** What a line of NDJSON is expected to be, from the row that was inserted. */
function lineOf(row: EventRow): string {
  const text = (value: string): string => JSON.stringify(value);
  return (
    `{"uuid":"${row.uuid}","event":${text(row.event)},"distinct_id":${text(row.distinctId)},` +
    `"timestamp":"${isoOfMicros(BigInt(row.timestampMicros))}","properties":${row.properties.replaceAll('\n', ' ')},` +
    `"historical_migration":${row.historical},"received_at":"${isoOfMicros(BigInt(row.receivedAtMicros))}","import_run":""}`
  );
}

function lines(files: Readonly<Record<string, Buffer>>): string[] {
  return Object.keys(files)
    .filter((name) => name.startsWith('events-'))
    .sort()
    .flatMap((name) => (files[name] ?? Buffer.alloc(0)).toString('utf8').split('\n').slice(0, -1));
}

describe('an export', () => {
  it('contains every event once, as stored, in parts that the manifest describes', async () => {
    const project = newProject();
    const rows = history(project, 57);
    await insertRows(chdb.store, `all-${project}`, rows);
    const again = history(project, 20, () => ({ properties: '{"later":1}', receivedAtMicros: start * 1000 - 1 }));
    await insertRows(chdb.store, `again-${project}`, again);
    await using world = await worldOf(project);
    const result = await world.run({});
    const files = await world.files();
    expect(lines(files).sort()).toEqual(rows.map(lineOf).sort());
    expect(result).toMatchObject({ rows: { events: 57 }, parts: 6 });
    const manifestBytes = files['manifest.json'] ?? Buffer.alloc(0);
    expect(result.sha256).toBe(createHash('sha256').update(manifestBytes).digest('hex'));
    const manifest = JSON.parse(manifestBytes.toString('utf8'));
    expect(manifest.tables.events).toMatchObject({ rows: 57 });
    expect(new Map(Object.entries(manifest.tables.events.names))).toEqual(
      new Map(names.map((name) => [name, rows.filter((row) => row.event === name).length])),
    );
    for (const part of manifest.parts) {
      const bytes = files[part.name] ?? Buffer.alloc(0);
      expect(bytes.length).toBe(part.bytes);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(part.sha256);
      const found = bytes
        .toString('utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(found.length).toBe(part.rows);
      expect([found[0].uuid, found.at(-1).uuid]).toEqual([part.first, part.last]);
      const times = found.map(({ timestamp }) => timestamp as string).sort();
      expect([times[0], times.at(-1)]).toEqual([part.from, part.to]);
    }
  });

  it('that is killed anywhere and resumed has the same files', async () => {
    const project = newProject();
    await insertRows(chdb.store, `kill-${project}`, history(project, 43));
    await using whole = await worldOf(project);
    await whole.run({});
    const expected = await whole.files();
    await using world = await worldOf(project);
    let kills = 0;
    for (let at = 1; ; at += 2) {
      let reached = 0;
      const failpoint = (): void => {
        reached += 1;
        if (reached === at) throw new TaskLostError();
      };
      try {
        await world.run({}, { failpoint });
        break;
      } catch (error) {
        if (!(error instanceof TaskLostError)) throw error;
        kills += 1;
      }
    }
    expect(kills).toBeGreaterThan(3);
    expect(await world.files()).toEqual(expected);
  });

  it('excludes what arrives after its start, and runs that are not finished', async () => {
    const project = newProject();
    const rows = history(project, 30);
    await insertRows(chdb.store, `before-${project}`, rows);
    const run = `run-${project}`;
    const running = history(project, 4, (i) => ({ uuid: `00000000-0000-4000-9000-00000000000${i}`, importRun: run }));
    await insertRows(chdb.store, `run-${project}`, running);
    await metadata.db
      .insertInto('import_runs')
      .values({ ...runRow, id: run, project_id: project, created_at: isoMicros(start) })
      .execute();
    await using world = await worldOf(project);
    let more = 0;
    const result = await world.run(
      {},
      {
        store: {
          waitForReplicas: () => chdb.store.waitForReplicas(),
          query: async (sql, params) => {
            more += 1;
            const late = history(project, 5, (i) => ({
              uuid: `00000000-0000-4000-a000-${String(more * 10 + i).padStart(12, '0')}`,
              receivedAtMicros: start * 1000 + i,
            }));
            await insertRows(chdb.store, `late-${project}-${more}`, late);
            return await chdb.store.query(sql, params);
          },
        },
      },
    );
    expect(more).toBeGreaterThan(5);
    expect(lines(await world.files()).sort()).toEqual(rows.map(lineOf).sort());
    expect(result.rows).toEqual({ events: 30 });
    expect(world.progress()).toMatchObject({ unfinished_runs: [run], events: 30 });
  });

  it('contains the selected events only', async () => {
    const project = newProject();
    const rows = history(project, 40);
    await insertRows(chdb.store, `selected-${project}`, rows);
    await using world = await worldOf(project);
    const after = isoOfMicros(BigInt(20_001 * dayMicros));
    await world.run({ selection: { events: ['order*'], after, historical_migration: false } });
    const expected = rows.filter(
      ({ event, timestampMicros, historical }) =>
        event.startsWith('order') && timestampMicros >= 20_001 * dayMicros && !historical,
    );
    expect(expected.length).toBeGreaterThan(2);
    expect(lines(await world.files()).sort()).toEqual(expected.map(lineOf).sort());
  });

  it('is the same compressed', async () => {
    const project = newProject();
    const rows = history(project, 8);
    await insertRows(chdb.store, `packed-${project}`, rows);
    const unpack = { gzip: gunzipSync, zstd: zstdDecompressSync } as const;
    for (const compression of ['gzip', 'zstd'] as const) {
      await using world = await worldOf(project);
      await world.run({ compression });
      const packed = Object.entries(await world.files()).find(([name]) => name.startsWith('events-'));
      expect(packed?.[0]).toBe(`events-00001.ndjson.${compression === 'gzip' ? 'gz' : 'zst'}`);
      const text = unpack[compression](packed?.[1] ?? Buffer.alloc(0)).toString('utf8');
      expect(text.trimEnd().split('\n').sort()).toEqual(rows.map(lineOf).sort());
    }
  });

  it('that is cancelled leaves nothing in a bucket', async () => {
    const project = newProject();
    await insertRows(chdb.store, `cancelled-${project}`, history(project, 25));
    await using bucket = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKID' });
    const destination = {
      kind: 's3',
      bucket: 'exports',
      endpoint: bucket.endpoint,
      path_style: true,
      access_key_id: 'AKID',
    } as const;
    const secrets = { secret_access_key: 's3cret' };
    const resolve = async (): Promise<string> => '127.0.0.1';
    let saved = 0;
    const deps = {
      openPlace: async ({ id, ...of }: PlaceOf) => openS3Place({ resolve }, id, of.destination, of.secrets),
      failpoint: (name: string) => {
        if (name === 'export_part_saved' && (saved += 1) === 2) throw new TaskLostError();
      },
    };
    await using world = await worldOf(project, secrets);
    await expect(world.run({ destination }, deps)).rejects.toThrow(TaskLostError);
    expect(bucket.objects.size).toBe(2);
    await world.cleanUp({ destination }, deps);
    expect([...bucket.objects.keys()]).toEqual([]);
  });

  it('of nothing has only a manifest', async () => {
    await using world = await worldOf(newProject());
    expect(await world.run({})).toMatchObject({ rows: { events: 0 }, parts: 0, bytes: 0 });
    expect(Object.keys(await world.files())).toEqual(['manifest.json']);
  });
});

const runRow = {
  config_id: 0,
  source: 'files',
  state: 'running',
  stage: 'load',
  reason: '',
  waiting: null,
  options: '{}',
  secrets: '{}',
  progress: '{}',
  totals: '{}',
  promoted_from: null,
  attempts: 0,
  retries: 0,
  lease_until: null,
  staging_removed_at: null,
  started_at: null,
  finished_at: null,
  kept: '',
  deaths: null,
};
