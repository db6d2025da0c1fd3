import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { describeOnPostgres } from '../../test/support/postgres-database.ts';
import { migrate } from '../metadata/migrate.ts';
import { createOrganization } from '../metadata/organizations.ts';
import { createProject, deleteProject } from '../metadata/projects.ts';
import { writeWindow } from './store-window.ts';
import type { Window } from './window.ts';

/** A window that changes one person. */
function windowOf(project_id: number): Window {
  const person = { project_id, uuid: 'p', created_at_micros: 0, is_identified: 0, registers: '{}' };
  return {
    number: 1,
    lane: 'live',
    from: 0,
    to: 1,
    token: 'live:0-1',
    rows: { chunks: [], rows: 0 },
    earlierRows: [],
    persons: { persons: [person], distinctIds: [], merges: [] },
    groups: { types: [], groups: [] },
    chains: { counts: [], failures: [], errors: new Map() },
    storage: { generation: 1, rows: [] },
    observed: [],
    warnings: [],
    deadLetters: [],
    live: { seen: [], skipped: [] },
    counts: { events: 1, bodyBytes: 0, stored: 1, dropped: new Map(), dead: new Map() },
    oldestReceivedAt: 0,
  };
}

describeOnPostgres('deleting a project while a window is written, on PostgreSQL', ({ db }) => {
  beforeAll(() => migrate(db, 'postgres'));

  it('a deletion waits for the window that is being written, and takes its rows along', async () => {
    const organization = await createOrganization(db, { name: 'Own' }, 0);
    const project = await createProject(db, { organizationId: organization.id, name: 'doomed' }, 0);
    const order: string[] = [];
    let deletion: Promise<unknown> = Promise.resolve();
    await db.transaction().execute(async (tx) => {
      await writeWindow(tx, windowOf(project.id), 0);
      deletion = deleteProject(db, project.id).then((deleted) => order.push(`deleted: ${deleted}`));
      await sleep(500);
      order.push('written');
    });
    await deletion;
    expect(order).toEqual(['written', 'deleted: true']);
    expect(await db.selectFrom('persons').selectAll().execute()).toEqual([]);
  });
});
