import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { windowOf } from '../../test/support/window.ts';
import { describeOnPostgres } from '../../test/support/postgres-database.ts';
import { migrate } from '../stores/metadata/migrate.ts';
import { createOrganization } from '../stores/metadata/organizations.ts';
import { createProject, deleteProject } from '../stores/metadata/projects.ts';
import { writeWindow } from './store-window.ts';

describeOnPostgres('deleting a project while a window is written, on PostgreSQL', ({ db }) => {
  beforeAll(() => migrate(db, 'postgres'));

  it('a deletion waits for the window that is being written, and deletes its rows too', async () => {
    const organization = await createOrganization(db, { name: 'Own' }, 0);
    const project = await createProject(db, { organizationId: organization.id, name: 'doomed' }, 0);
    const order: string[] = [];
    let deletion: Promise<unknown> = Promise.resolve();
    await db.transaction().execute(async (tx) => {
      await writeWindow(tx, { slot: 0, epoch: 0 }, windowOf(project.id), 0);
      deletion = deleteProject(db, project.id).then((deleted) => order.push(`deleted: ${deleted}`));
      await sleep(500);
      order.push('written');
    });
    await deletion;
    expect(order).toEqual(['written', 'deleted: true']);
    expect(await db.selectFrom('persons').selectAll().execute()).toEqual([]);
  });
});
