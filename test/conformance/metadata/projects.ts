import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { isoMicros } from '../../../src/base/clock.ts';
import type { Use } from './metadata.ts';
import { bumpConfigRevision, readConfigRevision } from '../../../src/stores/metadata/config-revision.ts';
import type { Database, Metadata } from '../../../src/stores/metadata/database.ts';
import { createOrganization, getOrganization, listOrganizations } from '../../../src/stores/metadata/organizations.ts';
import {
  createProject,
  deleteProject,
  getProject,
  getProjectByToken,
  listProjects,
  rotateProjectToken,
  updateProject,
  type Project,
} from '../../../src/stores/metadata/projects.ts';
import { createAccount, now, sampleConfig, samplePlugin } from '../../support/metadata-rows.ts';
import { isUniqueViolation } from '../../support/unique-violation.ts';
import { getUser, listUsers } from '../../../src/stores/metadata/users.ts';

/** The promises of queries for organisations, users, projects and the config revision, on every store. */
export function testProjects(use: Use): void {
  describe('organisations and users', () => {
    testAccounts(use);
  });
  describe('projects', () => {
    testProjectRecords(use);
  });
  describe('a deleted project', () => {
    testProjectDeletion(use);
  });
  describe('the config revision', () => {
    testConfigRevision(use);
  });
}

function testAccounts(use: Use): void {
  it('are found and listed as created', async () => {
    const { db } = use();
    const { organizationId, userId } = await createAccount(db);
    const organization = { id: organizationId, name: 'Acme', createdAt: '2026-11-20T10:00:00.000000Z' };
    expect(await getOrganization(db, organizationId)).toEqual(organization);
    expect(await listOrganizations(db)).toEqual([organization]);
    const user = await getUser(db, userId);
    expect(user).toMatchObject({ organizationId, firstName: 'Ann', email: 'ann@acme.test' });
    expect(await listUsers(db, organizationId)).toEqual([user]);
    expect(await listUsers(db, 'another')).toEqual([]);
    expect([await getOrganization(db, 'x'), await getUser(db, 99)]).toEqual([undefined, undefined]);
  });
}

function testProjectRecords(use: Use): void {
  it('are found by id and by token', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const project = await createProject(db, { organizationId, name: 'Shop' }, now);
    expect(project).toMatchObject({
      name: 'Shop',
      timezone: 'UTC',
      createdAt: isoMicros(now),
      updatedAt: isoMicros(now),
    });
    expect(project.apiToken).toMatch(/^phc_[0-9A-Za-z]{48}$/);
    expect(await getProject(db, project.id)).toEqual(project);
    expect(await getProjectByToken(db, project.apiToken)).toEqual(project);
    expect([await getProject(db, 99), await getProjectByToken(db, 'phc_x')]).toEqual([undefined, undefined]);
  });

  it('a token belongs to one project only', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const input = { organizationId, name: 'Shop', apiToken: 'phc_given_by_the_operator' };
    await createProject(db, input, now);
    await expect(createProject(db, input, now)).rejects.toSatisfy(isUniqueViolation);
  });

  it('are paged in id order, within an organisation and a set of ids', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const foreign = await createOrganization(db, { name: 'Other' }, now);
    const made: Project[] = [];
    for (const name of ['a', 'b', 'c', 'd']) made.push(await createProject(db, { organizationId, name }, now));
    await createProject(db, { organizationId: foreign.id, name: 'e' }, now);
    const page = async (filter: Parameters<typeof listProjects>[1]): Promise<[number, string]> => {
      const { count, projects } = await listProjects(db, filter);
      return [count, projects.map((project) => project.name).join('')];
    };
    const ids = made.slice(1).map((project) => project.id);
    expect(await page({ organizationId })).toEqual([4, 'abcd']);
    expect(await page({ organizationId, limit: 2, offset: 1 })).toEqual([4, 'bc']);
    expect(await page({ organizationId, offset: 3 })).toEqual([4, 'd']);
    expect(await page({ organizationId, ids, limit: 2 })).toEqual([3, 'bc']);
    expect(await page({ organizationId, ids: null })).toEqual([4, 'abcd']);
    expect(await page({ organizationId, ids: [] })).toEqual([0, '']);
    expect(await page({ organizationId: foreign.id, ids })).toEqual([0, '']);
    expect(await page({})).toEqual([5, 'abcde']);
    expect(await page({ organizationId: 'none' })).toEqual([0, '']);
  });

  it('change in part, with the time of the change', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const project = await createProject(db, { organizationId, name: 'Shop' }, now);
    const later = { ...project, updatedAt: isoMicros(now + 1) };
    expect(await updateProject(db, project.id, { name: 'Store' }, now + 1)).toEqual({ ...later, name: 'Store' });
    const moved = await updateProject(db, project.id, { timezone: 'Europe/Berlin' }, now + 1);
    expect(moved).toEqual({ ...later, name: 'Store', timezone: 'Europe/Berlin' });
    expect(await updateProject(db, project.id, {}, now + 1)).toEqual(moved);
    expect(await updateProject(db, 99, { name: 'x' }, now)).toBeUndefined();
  });

  it('a rotated token replaces the old one immediately, and pipelines are notified', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const project = await createProject(db, { organizationId, name: 'Shop' }, now);
    const revision = await readConfigRevision(db);
    const rotated = await rotateProjectToken(db, project.id, now + 1);
    expect(rotated?.apiToken).toMatch(/^phc_/);
    expect(await getProjectByToken(db, project.apiToken)).toBeUndefined();
    expect(await getProjectByToken(db, rotated?.apiToken ?? '')).toEqual(rotated);
    expect(await readConfigRevision(db)).toBeGreaterThan(revision);
    expect(await rotateProjectToken(db, 99, now)).toBeUndefined();
  });
}

function testConfigRevision(use: Use): void {
  it('counts every change, including concurrent ones', async () => {
    const { db, other } = use();
    expect(await readConfigRevision(db)).toBe(0);
    const bumps = await Promise.all([db, other, db, other].map((store) => bumpConfigRevision(store)));
    expect(bumps.toSorted()).toEqual([1, 2, 3, 4]);
    expect(await readConfigRevision(other)).toBe(4);
  });
}

function testProjectDeletion(use: Use): void {
  it('leaves no row in any table, and removes none of another project', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const plugin = await db.insertInto('plugins').values(samplePlugin).returning('id').executeTakeFirstOrThrow();
    const doomed = await createProject(db, { organizationId, name: 'Doomed' }, now);
    const kept = await createProject(db, { organizationId, name: 'Kept' }, now);
    for (const project of [doomed, kept]) await fillProject(db, project.id, plugin.id);
    const tables = await tablesWithProjects(db);
    const before = await countRows(db, tables, doomed.id);
    expect(before).toEqual(Object.fromEntries(tables.map((table) => [table, 1])));

    expect(await deleteProject(db, doomed.id)).toBe(true);
    expect(await countRows(db, tables, doomed.id)).toEqual(Object.fromEntries(tables.map((table) => [table, 0])));
    expect(await countRows(db, tables, kept.id)).toEqual(before);
    expect(await db.selectFrom('plugin_attachments').select('config_id').execute()).toHaveLength(1);
    expect(await getProject(db, doomed.id)).toBeUndefined();
    expect(await deleteProject(db, doomed.id)).toBe(false);
  });
}

/** Returns every table with a project_id, so that later tables are covered as well. */
async function tablesWithProjects(db: Metadata): Promise<string[]> {
  const tables = await db.introspection.getTables();
  return tables
    .filter((table) => table.columns.some((column) => column.name === 'project_id'))
    .map((table) => table.name)
    .toSorted();
}

async function countRows(db: Metadata, tables: readonly string[], id: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const query = sql<{ n: number }>`select count(*) as n from ${sql.table(table)} where project_id = ${id}`;
    counts[table] = (await query.execute(db)).rows[0]?.n ?? -1;
  }
  return counts;
}

/** Inserts one row into every table of a project. */
async function fillProject(db: Metadata, project_id: number, pluginId: number): Promise<void> {
  const config = await db
    .insertInto('plugin_configs')
    .values(sampleConfig(project_id, pluginId))
    .returning('id')
    .executeTakeFirstOrThrow();
  const rows = {
    ...configRows(project_id, config.id),
    ...pluginRows(project_id, config.id),
    ...pipelineRows(project_id),
    ...importRows(project_id),
    ...loadRows(project_id),
    ...(await noticeRows(db, project_id)),
    ...scheduleRows(project_id, config.id),
  };
  for (const [table, row] of Object.entries(rows)) {
    const columns = sql.join(Object.keys(row).map((name) => sql.ref(name)));
    await sql`insert into ${sql.table(table)} (${columns}) values (${sql.join(Object.values(row))})`.execute(db);
  }
}

function scheduleRows(project_id: number, config_id: number): Rows {
  const time = isoMicros(now);
  const times = { begins_at: time, covered_to: time, due_at: time, created_at: time, updated_at: time };
  const about = { timing: '{"everyMinutes":60}', overlap_minutes: 0, paused: 0, error: '' };
  return { import_schedules: { config_id, project_id, ...about, ...times } };
}

async function noticeRows(db: Metadata, project_id: number): Promise<Rows> {
  const time = isoMicros(now);
  const organization_id = (await getProject(db, project_id))?.organizationId;
  const made = { created_at: time, updated_at: time };
  const about = { name: 'ops', kind: 'slack', address: '{}', events: '[]', enabled: 1 };
  return {
    notice_destinations: { id: `destination ${project_id}`, organization_id, project_id, ...about, ...made },
    notice_conditions: { subject: `config ${project_id}`, project_id, standing: '{}', seen_at: time },
  };
}

type Rows = { [Table in keyof Database]?: Record<string, unknown> };

function pluginRows(project_id: number, config_id: number): Rows {
  const time = isoMicros(now);
  return {
    plugin_metrics: { config_id, project_id, hour: time, succeeded: 1, failed: 0, dropped: 0 },
    plugin_storage: { config_id, project_id, key: 'k', value: '1' },
    plugin_logs: {
      id: `log ${project_id}`,
      config_id,
      project_id,
      created_at: time,
      level: 'LOG',
      source: 'CONSOLE',
      message: '',
      instance_id: '',
    },
    plugin_errors: {
      config_id,
      project_id,
      fingerprint: '',
      method: '',
      name: '',
      message: '',
      stack: '',
      count: 1,
      first_seen: time,
      last_seen: time,
      samples: '[]',
    },
    plugin_own_metrics: { config_id, project_id, hour: time, name: 'n', kind: 'sum', value: 1 },
  };
}

function configRows(project_id: number, config_id: number): Rows {
  const time = isoMicros(now);
  return {
    plugin_attachments: {
      config_id,
      key: 'file',
      file_name: 'f',
      content_type: 'text/plain',
      size: 1,
      content: new Uint8Array(1),
    },
    activity_log: {
      id: `activity ${project_id}`,
      project_id,
      organization_id: 'o',
      scope: 'PluginConfig',
      item_id: '1',
      activity: 'created',
      is_system: 0,
      created_at: time,
      name: '',
      changes: '[]',
      snapshot: '{}',
    },
    jobs: {
      id: `job ${project_id}`,
      project_id,
      config_id,
      type: 'run',
      operation: 'start',
      payload: '{}',
      state: 'queued',
      attempts: 0,
      run_at: time,
      error: '',
      created_at: time,
    },
    historical_budgets: { project_id, tokens: 1, per_second: 1, filled_at: 0, total: 0, total_read_at: 0 },
    historical_migrations: {
      id: `agreement ${project_id}`,
      project_id,
      source: 's',
      method: 'm',
      total_events: 1,
      events_per_second: 1,
      state: 'filed',
      note: '',
      created_at: time,
    },
  };
}

function pipelineRows(project_id: number): Rows {
  const time = isoMicros(now);
  return {
    persons: { project_id, uuid: 'p', created_at_micros: 0, is_identified: 0, registers: '{}' },
    person_distinct_ids: { project_id, distinct_id: 'd', person_uuid: 'p' },
    group_types: { project_id, type_index: 0, name: 'company' },
    groups: { project_id, type_index: 0, group_key: 'k', created_at_micros: 0, registers: '{}' },
    ingestion_warnings: { project_id, type: 't', hour: time, count: 1, last_seen: time, samples: '[]' },
    tracking_plans: { project_id, version: 1, plan: '{}', created_at: time },
    kept_out_lists: { project_id, hash_key: 'k', version: 1 },
    kept_out_ids: { project_id, id_hash: 'h' },
    tracking_plan_violations: {
      project_id,
      hour: time,
      event: 'e',
      property: 'p',
      rule: 'type',
      count: 1,
      last_seen: time,
      samples: '[]',
    },
    sample_events: { project_id, name: 's', event: '{}', created_by: null, created_at: time, updated_at: time },
    project_limits: { project_id, limits: '{}', updated_at: time },
    retention_policies: { project_id, policy: '{}', updated_at: time, passed_at: time },
    signing_keys: { project_id, private_key: 'k', created_at: time },
    tasks: {
      id: `task-${project_id}`,
      project_id,
      kind: 'export',
      state: 'queued',
      spec: '{}',
      secrets: '{}',
      error: '',
      attempts: 0,
      created_at: time,
    },
    dead_letter_replays: {
      id: `replay ${project_id}`,
      project_id,
      state: 'done',
      choice: '{}',
      matched: 0,
      failures: '[]',
      error: '',
      attempts: 0,
      created_at: time,
    },
    dead_letters: {
      id: `letter ${project_id}`,
      project_id,
      lane: 'live',
      reason: 'r',
      detail: 'd',
      original: new Uint8Array(1),
      received_at: time,
      state: 'open',
    },
  };
}

function loadRows(project_id: number): Rows {
  const run_id = `run ${project_id}`;
  return {
    import_loads: {
      run_id,
      project_id,
      config_id: 1,
      source: 's',
      target: 'project',
      place: 'p',
      recipe: 'r',
      duplicates: 0,
      first_day: '2026-01-01',
      last_day: '2026-01-01',
      created_at: isoMicros(now),
    },
    import_load_marks: { project_id, mark: 'piece a', run_id, records: 1 },
  };
}

function importRows(project_id: number): Rows {
  const run_id = `run ${project_id}`;
  const upload_id = `upload ${project_id}`;
  return {
    import_uploads: { project_id, name: 'a', upload_id, bytes: 1, changed_at: isoMicros(now) },
    import_upload_pieces: { project_id, upload_id, start: 0, bytes: 1, staging_key: `piece ${project_id}` },
    profile_rebuilds: {
      id: run_id,
      project_id,
      state: 'due',
      detail: 'null',
      counts: '{}',
      arrivals: '{}',
      error: '',
      created_at: isoMicros(now),
    },
    profile_rebuild_keys: { rebuild_id: run_id, project_id, kind: 'person', key: 'a' },
    import_runs: {
      id: run_id,
      project_id,
      config_id: 1,
      source: 's',
      state: 'queued',
      stage: 'export',
      reason: '',
      options: '{}',
      secrets: '{}',
      progress: '{}',
      totals: '{}',
      attempts: 0,
      retries: 0,
      created_at: isoMicros(now),
    },
    import_parts: {
      run_id,
      project_id,
      seq: 1,
      key: 'k',
      stable: 1,
      segments: '[]',
      complete: 0,
      faults: 0,
      checked: 0,
      check_state: '',
      error: '',
    },
    import_days: {
      run_id,
      project_id,
      day: '2024-01-01',
      events: 0,
      bytes: 0,
      duplicates: 0,
      frames: 0,
      frames_loaded: 0,
      accepted: 0,
      rejected: 0,
      verified: 0,
      expected: '{}',
    },
  };
}
