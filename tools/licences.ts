/**
 * Writes THIRD-PARTY-LICENSES: every package that is installed with Millrace, or built into its console, with the text of its
 * licence. `npm run licences`; `npm pack` runs it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export type Lock = Readonly<Record<string, LockedPackage>>;

const root = fileURLToPath(new URL('..', import.meta.url));
const consoleSources = join(root, 'console/src');

export function readLock(): Lock {
  return (JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages;
}

/** Names of the packages that the console is built of: what its sources import. */
export function importedByConsole(): string[] {
  const sources = readdirSync(consoleSources, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.(tsx?|css)$/.test(name) && !name.includes('.test.'),
  );
  const imported = sources.flatMap((name) => {
    const text = readFileSync(join(consoleSources, name), 'utf8');
    return [...text.matchAll(/(?:from|import)\s*\(?\s*['"]((?:@[\w-]+\/)?[\w-][\w.-]*)/g)].map(([, from = '']) => from);
  });
  return [...new Set(imported)].toSorted();
}

/** Places in the lock of the packages with these names and of all that they bring, as npm lays them out. Sorted. */
export function shippedPackages(lock: Lock, names: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (from: string, name: string): void => {
    const path = resolvePackage(lock, from, name);
    // Peers and packages of other platforms may be absent.
    if (path === undefined || found.has(path)) return;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {} } = lock[path] ?? {};
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(path, next);
  };
  for (const name of names) visit('', name);
  return [...found].toSorted();
}

/** Where Node finds a package from another one: beside it, or in a folder above. */
function resolvePackage(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (path in lock) return path;
    if (folder === '') return undefined;
  }
}

export function shippedByMillrace(lock: Lock): string[] {
  return shippedPackages(lock, [...Object.keys(lock['']?.dependencies ?? {}), ...importedByConsole()]);
}

/** Binaries of other platforms, which the lock names without their licence: it is that of the binary of this platform. */
const likeTheOthers = { pattern: /\/@chdb\/lib-/, licence: 'Apache-2.0' };

/** As the package itself states it, where it is installed; else as the lock has it. */
export function licenceOf(lock: Lock, path: string): string | undefined {
  const manifest = join(root, path, 'package.json');
  if (!existsSync(manifest)) {
    return lock[path]?.license ?? (likeTheOthers.pattern.test(path) ? likeTheOthers.licence : undefined);
  }
  const { license } = JSON.parse(readFileSync(manifest, 'utf8')) as { license?: string | { type: string } };
  return typeof license === 'object' ? license.type : (license ?? lock[path]?.license);
}

/** Licence and notices that lie in the package, in that order. */
function textsOf(path: string): string {
  const folder = join(root, path);
  if (!existsSync(folder)) return '';
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  return names
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n');
}

function thirdPartyLicences(): string {
  const lock = readLock();
  const byText = Map.groupBy(shippedByMillrace(lock), textsOf);
  const nameOf = (path: string): string =>
    `${path.replace(/^.*node_modules\//, '')} ${lock[path]?.version} (${licenceOf(lock, path)})`;
  const parts = [...byText].map(([text, paths]) => {
    const what =
      text === ''
        ? 'These bring no text, or are installed on other platforms only: their licence is the one named.'
        : text;
    return `${[...new Set(paths.map(nameOf))].join('\n')}\n\n${what}`;
  });
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  return `Packages of others that are installed with Millrace or built into its console, with their licences.${rule}${parts.join(rule)}\n`;
}

if (basename(process.argv[1] ?? '') === basename(fileURLToPath(import.meta.url))) {
  writeFileSync(join(root, 'THIRD-PARTY-LICENSES'), thirdPartyLicences());
}
