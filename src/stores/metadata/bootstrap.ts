import { isoMicros } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { lockConfig } from './config-revision.ts';
import type { Metadata } from './database.ts';
import { createOrganization, listOrganizations } from './organizations.ts';
import { createPersonalApiKey, findPersonalApiKey, hasExpired } from './personal-api-keys.ts';
import { createProject, getProjectByToken, listProjects, type Project } from './projects.ts';
import type { Queries } from './queries.ts';
import { createLoginLink, hasValidSession } from './sessions.ts';
import { createUser, firstAdmin } from './users.ts';

export interface BootstrapOptions {
  /** `phx_…`; gets every scope. */
  readonly personalApiKey?: string | undefined;
  /** `phc_…`; default: a random one. */
  readonly projectApiKey?: string | undefined;
  /** ms since the epoch. */
  readonly now: number;
}

export interface Bootstrapped {
  /** Whether the store was empty. */
  readonly created: boolean;
  /** The one made; later the one with the given key, else the oldest; null when every project has been deleted. */
  readonly project: Project | null;
}

/**
 * Makes an empty store usable: organisation, user, project with its key and, if given, a personal key. On a store in use
 * it only adds a given personal key that is unknown. Of processes that start at once one makes it. Errors: a given key of
 * the wrong form.
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
 * The token of a console link for the first admin: when the store is new, and at later starts for as long as there is no
 * other way in, so that a first start whose greeting nobody saw was not the last chance. Undefined once somebody has a
 * session or a personal key that is valid.
 */
export async function firstLoginToken(
  db: Metadata,
  { created, now }: { readonly created: boolean; readonly now: number },
): Promise<string | undefined> {
  const user = await firstAdmin(db);
  if (user === undefined || (!created && (await hasWayIn(db, now)))) return undefined;
  return createLoginLink(db, { userId: user.id, now });
}

async function hasWayIn(db: Metadata, now: number): Promise<boolean> {
  if (await hasValidSession(db, now)) return true;
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
  // The key itself is a secret, or nearly one: it is described, not shown.
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
