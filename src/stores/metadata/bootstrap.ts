import { isoMicros } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { lockConfig } from './config-revision.ts';
import type { Metadata } from './database.ts';
import { createOrganization, listOrganizations } from './organizations.ts';
import { createPersonalApiKey, findPersonalApiKey, hasExpired } from './personal-api-keys.ts';
import { createProject, getProjectByToken, listProjects, type Project } from './projects.ts';
import type { Queries } from './queries.ts';
import { createLoginLink, hasValidSession, type SessionPolicy } from './sessions.ts';
import { createUser, firstAdmin } from './users.ts';

export interface BootstrapOptions {
  /** `phx_…`; has every scope. */
  readonly personalApiKey?: string | undefined;
  /** `phc_…`; default: a random one. */
  readonly projectApiKey?: string | undefined;
  /** ms since the epoch. */
  readonly now: number;
}

export interface Bootstrapped {
  /** Whether the store was empty. */
  readonly created: boolean;
  /** The new project; later the one with the given key, else the oldest; null if every project has been deleted. */
  readonly project: Project | null;
}

/**
 * Initialises an empty store: organisation, user, project with its key and, if given, a personal key. In a store in use it only adds a
 * given personal key that is unknown. Of processes that start at the same time, one initialises it.
 *
 * @throws if a given key has the wrong form
 */
export async function bootstrap(db: Metadata, options: BootstrapOptions): Promise<Bootstrapped> {
  checkKeyForm('personal', 'phx_', options.personalApiKey);
  checkKeyForm('project', 'phc_', options.projectApiKey);
  return db.transaction().execute(async (tx) => {
    await lockConfig(tx);
    const created = (await listOrganizations(tx)).length === 0;
    const first = created ? await createFirstRecords(tx, options) : undefined;
    if (options.personalApiKey !== undefined) await addPersonalKey(tx, options.personalApiKey, options.now);
    return first ?? { created, project: await findProject(tx, options.projectApiKey) };
  });
}

async function createFirstRecords(tx: Queries, { projectApiKey, now }: BootstrapOptions): Promise<Bootstrapped> {
  const organization = await createOrganization(tx, { name: 'My organization' }, now);
  await createUser(tx, { organizationId: organization.id, firstName: 'Admin', email: '', role: 'admin' }, now);
  const project = await createProject(
    tx,
    {
      organizationId: organization.id,
      name: 'Default project',
      ...(projectApiKey !== undefined && { apiToken: projectApiKey }),
    },
    now,
  );
  return { created: true, project };
}

/**
 * Returns the token of a console link for the first admin if the store is new, and at later starts while there is no other access, so
 * that missing the output of the first start is harmless. Undefined once a valid session or personal key exists.
 */
export async function firstLoginToken(
  db: Metadata,
  { created, now, policy }: { readonly created: boolean; readonly now: number; readonly policy: SessionPolicy },
): Promise<string | undefined> {
  const user = await firstAdmin(db);
  if (user === undefined || (!created && (await hasWayIn(db, now, policy)))) return undefined;
  return createLoginLink(db, { userId: user.id, now });
}

async function hasWayIn(db: Metadata, now: number, policy: SessionPolicy): Promise<boolean> {
  if (await hasValidSession(db, now, policy)) return true;
  const keys = await db.selectFrom('personal_api_keys').select('expires_at as expiresAt').execute();
  return keys.some((key) => !hasExpired(key, now));
}

async function addPersonalKey(tx: Queries, value: string, now: number): Promise<void> {
  if ((await findPersonalApiKey(tx, keyHash(value))) !== undefined) return;
  const user = await firstAdmin(tx);
  if (user === undefined) throw new Error('expected the store to have a user to give the personal key to, got none');
  const label = `From the settings, ${isoMicros(now).slice(0, 10)}`;
  await createPersonalApiKey(tx, { userId: user.id, label, scopes: ['*'], value }, now);
}

async function findProject(tx: Queries, projectApiKey: string | undefined): Promise<Project | null> {
  const named = projectApiKey === undefined ? undefined : await getProjectByToken(tx, projectApiKey);
  if (named !== undefined) return named;
  const { projects } = await listProjects(tx, { limit: 1 });
  return projects[0] ?? null;
}

const keyLengthMin = 16;
const keyLengthMax = 64;

function checkKeyForm(kind: 'personal' | 'project', prefix: 'phx_' | 'phc_', key: string | undefined): void {
  if (key === undefined) return;
  const fault = keyFault(prefix, key);
  if (fault === undefined) return;
  // The key is a secret, or nearly one, so it is described and not shown.
  throw new Error(
    `expected the bootstrap ${kind} API key to be "${prefix}" and letters, digits, "_" or "-", ` +
      `${keyLengthMin} to ${keyLengthMax} characters in all, got one ${fault}; ` +
      `correct MILLRACE_BOOTSTRAP_${kind.toUpperCase()}_API_KEY`,
  );
}

function keyFault(prefix: string, key: string): string | undefined {
  if (!key.startsWith(prefix)) return `that does not start with "${prefix}"`;
  if (key.length < keyLengthMin || key.length > keyLengthMax) return `of ${key.length} characters`;
  return /^[A-Za-z0-9_-]+$/.test(key) ? undefined : 'with other characters (a space or line end, perhaps)';
}
