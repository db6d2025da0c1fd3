import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAccount } from '../../../test/support/metadata-rows.ts';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { createLimitWarnings } from './project-limits.ts';

let store: TempMetadata;
let projectId: number;
const at = Date.UTC(2026, 10, 28, 10, 30);
beforeEach(async () => {
  store = await tempMetadata();
  const { organizationId } = await createAccount(store.db);
  projectId = (await createProject(store.db, { organizationId, name: 'Käufe "鞋"' }, at)).id;
});
afterEach(() => store[Symbol.asyncDispose]());

const limited = (events: number, of = projectId) =>
  ({ projectId: of, lane: 'live', limit: 'events_per_second', events }) as const;
const stored = async () =>
  (
    await store.db.selectFrom('ingestion_warnings').select(['project_id', 'type', 'hour', 'count', 'samples']).execute()
  ).map((row) => Object.assign(row, { samples: JSON.parse(row.samples) as unknown }));

it('refused events are written once as warnings of their project, also after a failed attempt', async () => {
  const warnings = createLimitWarnings(() => at);
  warnings.add(limited(3));
  warnings.add(limited(4));
  await store.db.schema.alterTable('ingestion_warnings').renameTo('away').execute();
  await expect(warnings.write(store.db)).rejects.toThrow('ingestion_warnings');
  await store.db.schema.alterTable('away').renameTo('ingestion_warnings').execute();
  const writing = warnings.write(store.db);
  warnings.add(limited(5));
  await writing;
  await warnings.write(store.db);
  await warnings.write(store.db);
  expect(await stored()).toEqual([
    {
      project_id: projectId,
      type: 'project_limit_exceeded',
      hour: '2026-11-28T10:00:00.000000Z',
      count: 12,
      samples: [
        { limit: 'events_per_second', lane: 'live', events: 5 },
        { limit: 'events_per_second', lane: 'live', events: 4 },
      ],
    },
  ]);
});

it('a project that was deleted in the meantime gets no rows', async () => {
  const warnings = createLimitWarnings(() => at);
  warnings.add(limited(3, projectId + 1));
  await warnings.write(store.db);
  expect(await stored()).toEqual([]);
});
