import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { createAgreements } from '../../wire/capture/agreements.ts';
import { createBudgets } from '../../wire/capture/budgets.ts';
import { freeEventsInAll } from '../../wire/contract/historical-settings.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import { unavailable } from '../../wire/capture/project-key.ts';
import { createOrganization } from '../../stores/metadata/organizations.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { createProjectIngest, hasFiledAgreement, type ProjectIngest } from './project-ingest.ts';

let metadata: TempMetadata;
let organizationId: string;
beforeAll(async () => {
  metadata = await tempMetadata();
  ({ id: organizationId } = await createOrganization(metadata.db, { name: 'Own' }, 0));
});
afterAll(() => metadata[Symbol.asyncDispose]());

interface TestIngest {
  readonly ingest: ProjectIngest;
  readonly taken: AcceptedBatch[];
  advance(ms: number): void;
  full: boolean;
  set(state: 'filed' | 'approved'): Promise<void>;
}

async function setUp(mode: 'optional' | 'required', historicalTotal = 0): Promise<TestIngest> {
  const { db } = metadata;
  const { id: projectId } = await createProject(db, { organizationId, name: 'P' }, 0);
  let now = 1_000_000;
  const clock = { now: () => now };
  const taken: AcceptedBatch[] = [];
  const agreements = createAgreements({
    mode,
    findApproved: (id) => findApprovedAgreement(db, id),
    budgets: createBudgets({ clock, historicalTotal: async () => historicalTotal }),
    clock,
  });
  const test: TestIngest = {
    taken,
    full: false,
    advance: (ms) => {
      now += ms;
    },
    ingest: createProjectIngest({
      projectId,
      runId: 'run-1',
      ingest: {
        accept: async (batch) => {
          if (test.full) throw unavailable('The historical lane is full.', 5);
          taken.push(batch);
        },
      },
      agreements,
      isFiled: (id) => hasFiledAgreement(db, id),
      clock,
    }),
    set: async (state) => {
      const row = {
        id: crypto.randomUUID(),
        project_id: projectId,
        source: 's',
        method: 'm',
        total_events: 1,
        events_per_second: 500,
        state,
        note: '',
        created_at: '2026-01-01T00:00:00Z',
        decided_at: null,
      };
      await db.deleteFrom('historical_migrations').where('project_id', '=', projectId).execute();
      await db.insertInto('historical_migrations').values(row).execute();
    },
  };
  return test;
}

const body = zstdCompressSync(Buffer.from('{}'));

describe('the ingest of an import into its project', () => {
  it('uses the historical lane', async () => {
    const { ingest, taken } = await setUp('optional');
    expect(await ingest.accept(body, 50_000)).toEqual({ kind: 'accepted' });
    expect(taken).toMatchObject([
      { lane: 'historical', events: 50_000, encoding: 'zstd-ndjson', receivedAt: 1_000_000 },
    ]);
  });

  it('waits while the lane is full, which does not count against the agreement', async () => {
    const test = await setUp('required');
    test.full = true;
    for (let n = 0; n < 3; n += 1) {
      const answer = await test.ingest.accept(body, 8000);
      expect(answer).toEqual({ kind: 'wait', reason: 'The historical lane is full.', retryAfterMs: 5000 });
    }
    test.full = false;
    expect(await test.ingest.accept(body, 8000)).toEqual({ kind: 'accepted' });
  });

  it('keeps to the agreed speed', async () => {
    const test = await setUp('required');
    await test.set('approved');
    expect(await test.ingest.accept(body, 5000)).toEqual({ kind: 'accepted' });
    expect(await test.ingest.accept(body, 1000)).toMatchObject({ kind: 'wait', retryAfterMs: 2000 });
    test.advance(2000);
    expect(await test.ingest.accept(body, 1000)).toEqual({ kind: 'accepted' });
  });

  it('is slow without an agreement and says how to file one; once filed, it says what it waits for', async () => {
    const test = await setUp('required');
    expect(await test.ingest.accept(body, 10_000)).toEqual({ kind: 'accepted' });
    const slow = await test.ingest.accept(body, 1000);
    expect(slow).toMatchObject({ kind: 'wait', retryAfterMs: 6000 });
    expect(slow).toHaveProperty('reason', expect.stringContaining('historical_migrations'));
    await test.set('filed');
    const filed = await test.ingest.accept(body, 1000);
    expect(filed).toHaveProperty('reason', expect.stringContaining('filed, not yet approved'));
    await test.set('approved');
    test.advance(5000);
    expect(await test.ingest.accept(body, 1000)).toEqual({ kind: 'accepted' });
  });

  it('is refused beyond the free events without a filed agreement, and waits minutes for a filed one', async () => {
    const test = await setUp('required', freeEventsInAll);
    const refused = await test.ingest.accept(body, 1);
    expect(refused).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('historical_migrations') as string,
    });
    await test.set('filed');
    expect(await test.ingest.accept(body, 1)).toMatchObject({ kind: 'wait', retryAfterMs: 120_000 });
    expect(test.taken).toEqual([]);
  });

  it('counts events whose rows are attached against the agreement, with the same results', async () => {
    const test = await setUp('required');
    await test.set('approved');
    expect(await test.ingest.admit(5000)).toEqual({ kind: 'accepted' });
    expect(await test.ingest.admit(1000)).toMatchObject({ kind: 'wait', retryAfterMs: 2000 });
    expect(await test.ingest.accept(body, 1000)).toMatchObject({ kind: 'wait', retryAfterMs: 2000 });
    test.advance(2000);
    expect(await test.ingest.admit(1000)).toEqual({ kind: 'accepted' });
    expect(test.taken).toEqual([]);
    const beyond = await setUp('required', freeEventsInAll);
    expect(await beyond.ingest.admit(1)).toEqual(await beyond.ingest.accept(body, 1));
    await beyond.set('filed');
    expect(await beyond.ingest.admit(1)).toMatchObject({ kind: 'wait', retryAfterMs: 120_000 });
  });

  it('accepts facts regardless of the agreement, marked so that they get no rows, and waits while the lane is full', async () => {
    const test = await setUp('required', freeEventsInAll);
    expect(await test.ingest.acceptFacts('groups', body, 7)).toEqual({ kind: 'accepted' });
    expect(test.taken).toMatchObject([
      { lane: 'historical', events: 7, encoding: 'zstd-ndjson', rowsStored: 'groups' },
    ]);
    test.full = true;
    expect(await test.ingest.acceptFacts('persons', body, 7)).toMatchObject({ kind: 'wait', retryAfterMs: 5000 });
  });

  it('does not mark whole events', async () => {
    const { ingest, taken } = await setUp('optional');
    await ingest.accept(body, 1);
    expect(taken[0]).not.toHaveProperty('rowsStored');
  });
});
