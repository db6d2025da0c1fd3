import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Metadata } from '../metadata/database.ts';
import { migrate } from '../metadata/migrate.ts';
import { createOrganization } from '../metadata/organizations.ts';
import { openPostgres } from '../metadata/postgres.ts';
import { createProject, deleteProject } from '../metadata/projects.ts';
import { writeWindow } from './store-window.ts';
import type { Window } from './window.ts';

const url = process.env.DATABASE_URL;
const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';

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
    counts: { events: 1, bodyBytes: 0, stored: 1, dropped: new Map(), dead: new Map() },
    oldestReceivedAt: 0,
  };
}

describe.skipIf(url === undefined)(`deleting a project while a window is written, on PostgreSQL${reason}`, () => {
  const name = `millrace_test_${randomUUID().replaceAll('-', '')}`;
  let server: Metadata;
  let db: Metadata;

  beforeAll(async () => {
    const own = new URL(url ?? '');
    server = openPostgres(own.href);
    await sql`create database ${sql.id(name)}`.execute(server);
    own.pathname = `/${name}`;
    db = openPostgres(own.href);
    await migrate(db, 'postgres');
  });
  afterAll(async () => {
    await db.destroy();
    await sql`drop database ${sql.id(name)} with (force)`.execute(server);
    await server.destroy();
  });

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
