import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { newRun, runOptions } from '../../../test/support/runs.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { rememberLoad } from '../../stores/metadata/import-loads.ts';
import { createRun } from './run-store.ts';
import { earlierRunsIn, findSameRecords, type CheckedRun } from './same-records.ts';
import type { RunOptions } from './run.ts';
import { readRunRows } from './run-rows.ts';

interface Loaded {
  readonly id: string;
  readonly options?: Partial<RunOptions>;
  readonly projectId?: number;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly loaded?: number;
  /** Its only part: key, identity, SHA-256 of its segments of 100 records. */
  readonly part?: readonly [key: string, identity: string | null, segments: readonly string[]];
  readonly expected?: object;
}

const cell = { count: 200, checksum: 'aa' };

async function put(db: Metadata, given: Loaded): Promise<void> {
  const { id, options = {}, projectId = 1, secrets = {}, loaded = 200, expected = { Order: cell } } = given;
  const [key, identity, hashes] = given.part ?? ['a.json', 'etag', ['s1', 's2']];
  await createRun(db, newRun({ id, projectId, secrets, options: { ...runOptions, ...options } }));
  await db
    .updateTable('import_runs')
    .set({ totals: JSON.stringify({ records: 200, skipped: {}, rejected: 0, events: 200, duplicates: 0, loaded }) })
    .where('id', '=', id)
    .execute();
  const segments = JSON.stringify(hashes.map((sha256) => ({ records: 100, rawBytes: 1, bytes: 1, sha256 })));
  const part = {
    run_id: id,
    project_id: projectId,
    seq: 1,
    key,
    bytes: null,
    identity,
    stable: 1 as const,
    detail: null,
  };
  await db
    .insertInto('import_parts')
    .values({ ...part, segments, complete: 1, faults: 0, checked: 0, check_state: '', error: '' })
    .execute();
  const day = { run_id: id, project_id: projectId, day: '2024-03-01', events: 200, bytes: 1, duplicates: 0, frames: 1 };
  await db
    .insertInto('import_days')
    .values({ ...day, frames_loaded: 1, accepted: 200, rejected: 0, verified: 1, expected: JSON.stringify(expected) })
    .execute();
  if (loaded > 0) await rememberLoad(db, id);
}

async function checkedRun(db: Metadata, id: string, options: Partial<RunOptions>): Promise<CheckedRun> {
  const { parts, days } = readRunRows(db, id);
  const run = { id, projectId: 1, options: { ...runOptions, ...options } };
  return { run, parts: await parts(), days: await days() };
}

const names = { events: { order: 'Order' } };

describe('records of which an earlier run made other events', () => {
  it.each<[string, Partial<Loaded>, object]>([
    ['the same segments with other names', {}, { records: 200, again: 200 }],
    ['some of the segments', { part: ['b.json', null, ['s2', 's9']] }, { records: 100, again: 200 }],
    [
      'the same part of the source, divided differently',
      { part: ['a.json', 'etag', ['t1']] },
      { records: 100, again: 200 },
    ],
    ['events with the same ids, which stay as they are', { expected: { Purchase: cell } }, { records: 200, again: 0 }],
    ['other code', { options: { names, transform: { name: 't', hash: 'a' } } }, { records: 200 }],
    ['another choice of properties', { options: { names, choice: { user_agent: true } } }, { records: 200 }],
  ])('are found: %s', async (_name, own, expected) => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    await put(db, { id: 'first' });
    const mine: Loaded = { id: 'second', options: { names }, expected: { Purchase: cell }, loaded: 0, ...own };
    if ('expected' in own)
      await db
        .updateTable('import_days')
        .set({ expected: JSON.stringify(own.expected) })
        .execute();
    await put(db, mine);
    const found = await findSameRecords(db, await checkedRun(db, 'second', mine.options ?? {}));
    expect(found).toEqual([expect.objectContaining({ run: 'first', loaded: 200, ...expected })]);
  });

  it.each<[string, Partial<Loaded>]>([
    ['converted in the same way', { options: { names } }],
    ['converted in the same way, with another choice of events', { options: { names, choice: { sample: 0.1 } } }],
    ['of another project', { projectId: 2 }],
    ['sent to another target', { options: { target: { kind: 'http', url: 'https://a.example/' } } }],
    ['sent with another key', { secrets: { apiKey: 'phc_other' } }],
    ['without loaded events', { loaded: 0 }],
    ['other records', { part: ['a.json', 'etag-2', ['x1']] }],
    ['other records, of a source without identities of parts', { part: ['a.json', null, ['x1']] }],
  ])('are not found: %s', async (_name, earlier) => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    await put(db, { id: 'first', ...earlier });
    await put(db, { id: 'second', options: { names }, expected: { Purchase: cell } });
    expect(await findSameRecords(db, await checkedRun(db, 'second', { names }))).toEqual([]);
  });

  it('a run that was undone or removed does not count', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    await put(db, { id: 'first' });
    await put(db, { id: 'second', options: { names } });
    expect([...(await earlierRunsIn(db).undone(['first', 'gone']))]).toEqual(['gone']);
    await db.updateTable('import_runs').set({ state: 'undone' }).where('id', '=', 'first').execute();
    expect([...(await earlierRunsIn(db).undone(['first']))]).toEqual(['first']);
    expect(await findSameRecords(db, await checkedRun(db, 'second', { names }))).toEqual([]);
  });
});
