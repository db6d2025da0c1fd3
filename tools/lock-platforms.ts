import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * The lock file has to name the binaries of every platform (chDB's library, DuckDB's, the linter's, the formatter's and the build's): a registry
 * mirror that does not carry some of them makes npm leave them out, and `npm ci` then installs nothing, or refuses,
 * elsewhere. This adds what is missing, with the hash of each as far as the registry knows it; run it after `npm install`.
 */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const platform =
  /-(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-(arm64|arm|x64|ia32|loong64|mips64el|ppc64|riscv64|s390x)(?:-(gnu|musl|[a-z]+))?$/;

/** `…-linux-arm64-gnu` → what npm compares with the machine; undefined: no binary of one platform. */
function platformOf(name: string): Pick<LockedPackage, 'os' | 'cpu' | 'libc'> | undefined {
  if (name.endsWith('-wasm32-wasi')) return { cpu: ['wasm32'] };
  const [, os, cpu, suffix = ''] = platform.exec(name) ?? [];
  if (os === undefined || cpu === undefined) return undefined;
  const libc = suffix.startsWith('musl') ? 'musl' : 'glibc';
  return { cpu: [cpu], ...(os === 'linux' && suffix !== '' && { libc: [libc] }), os: [os] };
}

/** The lock with every binary that its packages name; the same object when nothing is missing. */
export function lockPlatforms<L extends LockFile>(lock: L): L {
  const added = Object.values(lock.packages).flatMap(({ optionalDependencies = {}, dev }) =>
    Object.entries(optionalDependencies).flatMap(([name, version]): [string, LockedPackage][] => {
      const bound = platformOf(name);
      if (bound === undefined || `node_modules/${name}` in lock.packages) return [];
      return [[`node_modules/${name}`, { version, ...bound, ...(dev === true && { dev }), optional: true }]];
    }),
  );
  if (added.length === 0) return lock;
  const packages = [...Object.entries(lock.packages), ...added].toSorted(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lock, packages: Object.fromEntries(packages) };
}

/** What the registry says about a package; undefined: it does not carry this version. */
type IntegrityOf = (name: string, version: string) => Promise<string | undefined>;

/** The lock with the hash of every package that has none and that the registry carries. */
export async function lockIntegrity<L extends LockFile>(lock: L, integrityOf: IntegrityOf): Promise<L> {
  const packages: Record<string, LockedPackage> = { ...lock.packages };
  for (const [path, locked] of withoutIntegrity(lock)) {
    const { version = '', ...others } = locked;
    const integrity = await integrityOf(path.replace(/^.*node_modules\//, ''), version);
    if (integrity !== undefined) packages[path] = { version, integrity, ...others };
  }
  return { ...lock, packages };
}

/** What npm would install without comparing it with anything. */
export function withoutIntegrity(lock: LockFile): (readonly [path: string, locked: LockedPackage])[] {
  return Object.entries(lock.packages).filter(([path, { integrity }]) => path !== '' && integrity === undefined);
}

async function askRegistry(name: string, version: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('npm', ['view', `${name}@${version}`, 'dist.integrity']);
    return stdout.trim() || undefined;
  } catch (error) {
    if (String((error as { stderr?: unknown }).stderr).includes('E404')) return undefined;
    throw new Error(`expected npm to tell the hash of ${name}@${version}`, { cause: error });
  }
}

if (import.meta.main) {
  const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const lock = JSON.parse(readFileSync(path, 'utf8')) as LockFile;
  const complete = await lockIntegrity(lockPlatforms(lock), askRegistry);
  writeFileSync(path, `${JSON.stringify(complete, null, 2)}\n`);
  const unknown = withoutIntegrity(complete);
  console.log(
    `package-lock.json names every platform; packages whose hash the registry does not tell: ${unknown.length}`,
  );
}
