/** Programs of other versions, built in temporary worktrees of this repository. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

export interface BuiltVersion {
  readonly name: string;
  /** Its bin/millrace.js. */
  readonly program: string;
}

/** The last tag, or a commit some time ago in a repository without tags. */
export function lastRelease(): string {
  const tags = git('tag', '--merged', 'HEAD', '--sort=-creatordate').split('\n');
  return tags[0] !== undefined && tags[0] !== '' ? tags[0] : git('rev-parse', 'HEAD~20');
}

/**
 * Checks a commit out into a worktree, changes it, and builds it. `cleanup` receives what removes the worktree. Packages are hard links to
 * those of this checkout if the commit has the same, and are installed otherwise.
 */
export function buildVersion(
  { name, commit, change }: { readonly name: string; readonly commit: string; readonly change?: (dir: string) => void },
  dir: string,
  cleanup: DisposableStack,
): BuiltVersion {
  const place = join(dir, name);
  git('worktree', 'add', '--quiet', '--detach', place, commit);
  cleanup.defer(() => {
    // A process that has just been killed may still write there.
    rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    git('worktree', 'prune');
  });
  change?.(place);
  const lockOf = (path: string): string => readFileSync(join(path, 'package-lock.json'), 'utf8');
  if (lockOf(place) === lockOf(root)) {
    execFileSync('cp', ['-al', join(root, 'node_modules'), join(place, 'node_modules')]);
    // Written by programs that start; a link would be to the files of this checkout.
    execFileSync('rm', ['-rf', join(place, 'node_modules/.cache')]);
    cpSync(join(root, 'console/dist'), join(place, 'console/dist'), { recursive: true });
    execFileSync(process.execPath, ['tools/build-server.js'], { cwd: place, stdio: 'ignore' });
  } else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: place, stdio: 'ignore' });
  return { name, program: join(place, 'bin/millrace.js') };
}

/** Migrations of later releases, as sources. */
export const laterMigrations = {
  expand: `  {
    name: 'planted',
    since: '0.1.0',
    kind: 'expand',
    up: async ({ schema }) => {
      await schema.alterTable('persons').addColumn('planted', 'text').execute();
      await schema.alterTable('log_cursors').addColumn('planted', 'text').execute();
      await schema.alterTable('slots').addColumn('planted', 'integer', (column) => column.notNull().defaultTo(7)).execute();
      await schema.createTable('planted').addColumn('id', 'integer', (column) => column.primaryKey()).execute();
    },
  },
`,
  contract: `  {
    name: 'no longer planted',
    since: '0.1.0',
    kind: { contract: 'planted' },
    up: async ({ schema }) => {
      await schema.dropTable('planted').execute();
    },
  },
`,
} as const;

/** Adds migrations to the sources of a worktree. */
export function plantMigrations(place: string, sources: readonly string[]): void {
  const file = join(place, 'src/stores/metadata/migrate.ts');
  const before = readFileSync(file, 'utf8');
  const list = /^(export )?const migrations: readonly Migration\[\] = \[\n[^]*?(?=^\];)/m;
  const after = before.replace(list, (found) => found + sources.join(''));
  if (after === before) throw new Error(`expected the list of migrations in ${file}, found none`);
  writeFileSync(file, after);
}
