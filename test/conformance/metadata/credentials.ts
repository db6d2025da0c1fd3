import { describe, expect, it } from 'vitest';
import { isoMicros } from '../../../src/base/clock.ts';
import { keyHash } from '../../../src/base/ids.ts';
import { bootstrap, firstLoginToken } from '../../../src/stores/metadata/bootstrap.ts';
import type { Use } from './metadata.ts';
import { listOrganizations } from '../../../src/stores/metadata/organizations.ts';
import {
  createPersonalApiKey,
  deletePersonalApiKey,
  findPersonalApiKey,
  getPersonalApiKey,
  hasExpired,
  listPersonalApiKeys,
  rollPersonalApiKey,
  touchKeys,
} from '../../../src/stores/metadata/personal-api-keys.ts';
import { deleteProject, listProjects } from '../../../src/stores/metadata/projects.ts';
import {
  createLoginLink,
  createSession,
  defaultSessionPolicy,
  deleteExpiredSessions,
  deleteSession,
  endSessions,
  findSession,
  hasValidSession,
  useLoginLink,
} from '../../../src/stores/metadata/sessions.ts';
import { createAccount, now } from '../../support/metadata-rows.ts';
import { getUser, listUsers } from '../../../src/stores/metadata/users.ts';

const minute = 60_000;

/** The promises of queries for keys, sessions and the first start, on every store. */
export function testCredentials(use: Use): void {
  describe('personal API keys', () => {
    testKeys(use);
  });
  describe('login links and sessions', () => {
    testSessions(use);
  });
  describe('the first start', () => {
    testBootstrap(use);
  });
}

function testKeys(use: Use): void {
  it('are found by their hash with the organisation; the value is stored nowhere', async () => {
    const { db } = use();
    const { organizationId, userId } = await createAccount(db);
    const issued = await createPersonalApiKey(
      db,
      { userId, label: 'CI', scopes: ['plugin:write', 'project:read'], scopedProjects: [3, 1] },
      now,
    );
    expect(issued.value).toMatch(/^phx_[0-9A-Za-z]{48}$/);
    expect(issued.key).toMatchObject({ label: 'CI', scopes: ['plugin:write', 'project:read'], scopedProjects: [3, 1] });
    expect(issued.key.maskValue).toBe(`phx_...${issued.value.slice(-4)}`);
    expect(await findPersonalApiKey(db, keyHash(issued.value))).toEqual({
      ...issued.key,
      organizationId,
      role: 'admin',
    });
    expect(await getPersonalApiKey(db, userId, issued.key.id)).toEqual(issued.key);
    const stored = await db.selectFrom('personal_api_keys').selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(issued.value.slice(4, -4));
    expect(await findPersonalApiKey(db, keyHash('phx_other'))).toBeUndefined();
    expect(await getPersonalApiKey(db, userId + 1, issued.key.id)).toBeUndefined();
  });

  it.each([
    ['an empty label', { label: ' ' }, 'blank', 'label'],
    ['a label of 41 characters', { label: 'x'.repeat(41) }, 'max_length', 'label'],
    ['no scope', { scopes: [] }, 'required', 'scopes'],
    ['an unknown scope', { scopes: ['plugin:read', 'plugin:own'] }, 'invalid_input', 'scopes'],
  ])('%s is refused', async (_, wrong, code, attr) => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const input = { userId, label: 'ok', scopes: ['*'], ...wrong };
    await expect(createPersonalApiKey(db, input, now)).rejects.toMatchObject({ code, attr });
    expect(await listPersonalApiKeys(db, userId)).toEqual([]);
  });

  it('a label of 40 characters is accepted, regardless of its bytes', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const { key } = await createPersonalApiKey(db, { userId, label: '🙂'.repeat(40), scopes: ['*'] }, now);
    expect(await listPersonalApiKeys(db, userId)).toEqual([key]);
  });

  it('are listed newest first', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    for (const [label, time] of [
      ['old', now - 1],
      ['new', now + 1],
      ['middle', now],
    ] as const) {
      await createPersonalApiKey(db, { userId, label, scopes: ['*'] }, time);
    }
    expect((await listPersonalApiKeys(db, userId)).map((key) => key.label)).toEqual(['new', 'middle', 'old']);
    expect(await listPersonalApiKeys(db, userId + 1)).toEqual([]);
  });

  it('a rolled key is only found by its new value', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const issued = await createPersonalApiKey(db, { userId, label: 'CI', scopes: ['*'] }, now);
    const rolled = await rollPersonalApiKey(db, { userId, id: issued.key.id, expiresAt: null }, now + 1);
    expect(rolled?.key).toMatchObject({ id: issued.key.id, lastRolledAt: isoMicros(now + 1) });
    expect(await findPersonalApiKey(db, keyHash(issued.value))).toBeUndefined();
    expect((await findPersonalApiKey(db, keyHash(rolled?.value ?? '')))?.id).toBe(issued.key.id);
    expect(
      await rollPersonalApiKey(db, { userId: userId + 1, id: issued.key.id, expiresAt: null }, now),
    ).toBeUndefined();
  });

  it('only their user can delete them', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const { key } = await createPersonalApiKey(db, { userId, label: 'CI', scopes: ['*'] }, now);
    expect(await deletePersonalApiKey(db, userId + 1, key.id)).toBe(false);
    expect(await deletePersonalApiKey(db, userId, key.id)).toBe(true);
    expect(await deletePersonalApiKey(db, userId, key.id)).toBe(false);
  });

  it('expire at their time', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const input = { userId, label: 'CI', scopes: ['*'], expiresAt: isoMicros(now + minute) };
    const { key } = await createPersonalApiKey(db, input, now);
    expect([hasExpired(key, now + minute - 1), hasExpired(key, now + minute)]).toEqual([false, true]);
    expect(hasExpired({ expiresAt: null }, now)).toBe(false);
  });

  it('record their latest use, even if updates arrive out of order or for a deleted key', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const { key: a } = await createPersonalApiKey(db, { userId, label: 'a', scopes: ['*'] }, now);
    const { key: b } = await createPersonalApiKey(db, { userId, label: 'b', scopes: ['*'] }, now);
    await touchKeys(db, new Map());
    await touchKeys(
      db,
      new Map([
        [b.id, isoMicros(now + 5)],
        [a.id, isoMicros(now + 2)],
        ['gone', isoMicros(now)],
      ]),
    );
    await touchKeys(
      db,
      new Map([
        [b.id, isoMicros(now + 3)],
        [a.id, isoMicros(now + 4)],
      ]),
    );
    expect((await getPersonalApiKey(db, userId, a.id))?.lastUsedAt).toBe(isoMicros(now + 4));
    expect((await getPersonalApiKey(db, userId, b.id))?.lastUsedAt).toBe(isoMicros(now + 5));
  });
}

function testSessions(use: Use): void {
  it('a login link works once, even if opened twice concurrently', async () => {
    const { db, other } = use();
    const { userId } = await createAccount(db);
    const token = await createLoginLink(db, { userId, now });
    const uses = await Promise.all([db, other, db, other].map((store) => useLoginLink(store, token, now)));
    expect(uses.filter((user) => user?.userId === userId)).toHaveLength(1);
    expect(uses.filter((user) => user === undefined)).toHaveLength(3);
  });

  it('signing out everywhere ends the unused login links of that user only', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const { userId: other } = await createAccount(db);
    const [mine, theirs] = [
      await createLoginLink(db, { userId, now }),
      await createLoginLink(db, { userId: other, now }),
    ];
    await endSessions(db, userId, { except: undefined });
    expect(await useLoginLink(db, mine, now)).toBeUndefined();
    expect(await useLoginLink(db, theirs, now)).toEqual({ userId: other, scopes: null });
  });

  it('a login link lasts 30 minutes', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const token = await createLoginLink(db, { userId, now });
    expect(await useLoginLink(db, token, now + 30 * minute)).toBeUndefined();
    expect(await useLoginLink(db, token, now + 30 * minute - 1)).toEqual({ userId, scopes: null });
    expect(await useLoginLink(db, 'unknown', now)).toBeUndefined();
  });

  it('a session is found until it expires or is signed out', async () => {
    const { db } = use();
    const { organizationId, userId } = await createAccount(db);
    const { value, expiresAt } = await createSession(db, { userId, now, lifetimeMs: minute });
    expect(await findSession(db, value, now + minute - 1)).toEqual({
      id: expect.any(String),
      userId,
      organizationId,
      role: 'admin',
      scopes: null,
      expiresAt,
      lastUsedAt: null,
      keyId: null,
    });
    expect(await findSession(db, value, now + minute)).toBeUndefined();
    await deleteSession(db, value);
    expect(await findSession(db, value, now)).toBeUndefined();
    const stored = await db.selectFrom('sessions').selectAll().execute();
    expect(stored).toEqual([]);
  });

  it('a session opened with a key ends when the key is rolled, deleted or expires', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const expiresAt = isoMicros(now + minute);
    const open = async (label: string) => {
      const { key, value } = await createPersonalApiKey(db, { userId, label, scopes: ['*'], expiresAt }, now);
      const session = await createSession(db, { userId, now, keyHash: keyHash(value) });
      expect((await findSession(db, session.value, now))?.keyId).toBe(key.id);
      return { id: key.id, hash: keyHash(value), session: session.value };
    };
    const [rolled, deleted, left] = [await open('rolled'), await open('deleted'), await open('left')];
    await rollPersonalApiKey(db, { userId, id: rolled.id, expiresAt: null }, now);
    await deletePersonalApiKey(db, userId, deleted.id);
    expect(await findSession(db, rolled.session, now)).toBeUndefined();
    expect(await findSession(db, deleted.session, now)).toBeUndefined();
    expect(await findSession(db, left.session, now + minute - 1)).toBeDefined();
    expect(await findSession(db, left.session, now + minute)).toBeUndefined();
    const late = await createSession(db, { userId, now, keyHash: rolled.hash });
    expect(await findSession(db, late.value, now)).toBeUndefined();
    await deletePersonalApiKey(db, userId, left.id);
    await deletePersonalApiKey(db, userId, rolled.id);
    expect(await hasValidSession(db, now, defaultSessionPolicy)).toBe(false);
    await createSession(db, { userId, now });
    expect(await hasValidSession(db, now, defaultSessionPolicy)).toBe(true);
  });

  it('a session has every scope, those of its link, or those of the key that opened it', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    const scopesOf = async (more: { scopes?: readonly string[] | null; keyHash?: string }) =>
      (await findSession(db, (await createSession(db, { userId, now, ...more })).value, now))?.scopes;
    const link = await createLoginLink(db, { userId, now, scopes: ['*', 'erasure:read'] });
    const used = await useLoginLink(db, link, now);
    expect(used).toEqual({ userId, scopes: ['*', 'erasure:read'] });
    const { value } = await createPersonalApiKey(db, { userId, label: 'opens', scopes: ['*'] }, now);
    expect(await scopesOf({})).toBeNull();
    expect(await scopesOf({ ...used })).toEqual(['*', 'erasure:read']);
    expect(await scopesOf({ keyHash: keyHash(value) })).toEqual(['*']);
  });

  it('removes expired sessions and links and keeps the others', async () => {
    const { db } = use();
    const { userId } = await createAccount(db);
    await createLoginLink(db, { userId, now, lifetimeMs: minute });
    await createSession(db, { userId, now, lifetimeMs: minute });
    const link = await createLoginLink(db, { userId, now });
    const session = await createSession(db, { userId, now });
    await deleteExpiredSessions(db, now + minute);
    expect(await db.selectFrom('sessions').select('id_hash').execute()).toMatchObject([
      { id_hash: keyHash(session.value) },
    ]);
    expect(await db.selectFrom('login_links').select('token_hash').execute()).toMatchObject([
      { token_hash: keyHash(link) },
    ]);
  });
}

function testBootstrap(use: Use): void {
  const personalApiKey = 'phx_bootstrap-key_0001';
  const projectApiKey = 'phc_bootstrap-key_0001';

  it('creates a project with its key and a user once', async () => {
    const { db } = use();
    const first = await bootstrap(db, { now });
    expect(first).toMatchObject({ created: true, project: { name: 'Default project' } });
    const [user, ...more] = await listUsers(db);
    expect([user?.organizationId, more]).toEqual([first.project?.organizationId, []]);
    expect(await bootstrap(db, { now: now + 1 })).toEqual({ created: false, project: first.project });
    expect((await listProjects(db)).count).toBe(1);
    expect(await listPersonalApiKeys(db, user?.id ?? 0)).toEqual([]);
  });

  it('returns a login token for a new store, and later while no valid session or key exists', async () => {
    const { db } = use();
    const tokenLater = (time: number) =>
      firstLoginToken(db, { created: false, now: time, policy: defaultSessionPolicy });
    expect(await tokenLater(now)).toBeUndefined();
    await bootstrap(db, { now });
    const unseen = await tokenLater(now);
    const userId = (await useLoginLink(db, unseen ?? '', now))?.userId ?? 0;
    expect(await getUser(db, userId)).toMatchObject({ firstName: 'Admin' });
    expect(await tokenLater(now)).toBeTypeOf('string');

    const session = await createSession(db, { userId, now });
    expect(await tokenLater(now)).toBeUndefined();
    expect(await tokenLater(Date.parse(session.expiresAt))).toBeTypeOf('string');
    await deleteSession(db, session.value);
    const expiresAt = isoMicros(now + minute);
    await createPersonalApiKey(db, { userId, label: 'a minute', scopes: ['*'], expiresAt }, now);
    expect(await tokenLater(now)).toBeUndefined();
    expect(await firstLoginToken(db, { created: true, now, policy: defaultSessionPolicy })).toBeTypeOf('string');
    expect(await tokenLater(now + minute)).toBeTypeOf('string');
  });

  it('two processes that start concurrently create one project', async () => {
    const { db, other } = use();
    const options = { personalApiKey, projectApiKey, now };
    const results = await Promise.all([db, other, db].map((store) => bootstrap(store, options)));
    expect(results.filter((result) => result.created)).toHaveLength(1);
    expect(new Set(results.map((result) => result.project?.apiToken))).toEqual(new Set([projectApiKey]));
    const [user, ...more] = await listUsers(db);
    expect(more).toEqual([]);
    expect(await listPersonalApiKeys(db, user?.id ?? 0)).toMatchObject([{ scopes: ['*'], scopedProjects: null }]);
  });

  it('adds a personal key given later once', async () => {
    const { db } = use();
    await bootstrap(db, { now });
    await bootstrap(db, { personalApiKey, now });
    await bootstrap(db, { personalApiKey, now });
    expect(await findPersonalApiKey(db, keyHash(personalApiKey))).toMatchObject({ scopes: ['*'] });
    expect(await db.selectFrom('personal_api_keys').select('id').execute()).toHaveLength(1);
  });

  it('creates no project in a store whose projects were all deleted', async () => {
    const { db } = use();
    const { project } = await bootstrap(db, { now });
    await deleteProject(db, project?.id ?? 0);
    expect(await bootstrap(db, { now })).toEqual({ created: false, project: null });
  });

  it.each([
    ['personal', 'phc_0123456789abcdef', 'does not start with "phx_"'],
    ['personal', 'phx_short', 'of 9 characters'],
    ['personal', `phx_${'s'.repeat(61)}`, 'of 65 characters'],
    ['personal', 'phx_0123456789abcdef\n', 'a space or line end'],
    ['project', 'phx_0123456789abcdef', 'does not start with "phc_"'],
    ['project', 'my own key', 'does not start with "phc_"'],
  ])('refuses an invalid %s key without repeating it (%#)', async (kind, key, reason) => {
    const { db } = use();
    const attempt = bootstrap(db, { [kind === 'personal' ? 'personalApiKey' : 'projectApiKey']: key, now });
    const message = await attempt.catch((error: unknown) => (error instanceof Error ? error.message : ''));
    expect(message).toContain(reason);
    expect(message).toContain(`MILLRACE_BOOTSTRAP_${kind.toUpperCase()}_API_KEY`);
    expect(message).not.toContain(key);
    expect(await listOrganizations(db)).toEqual([]);
  });
}
