import type { Loader, Message } from 'esbuild';
import { PluginPackageError } from '../plugin-package-error.ts';

/** Beyond it a file is no source. */
const sourceLengthMax = 20_000_000;
const shownErrors = 3;

/**
 * How a file is to be read. Published plugins hold TypeScript in .js files, and unused imports in modules are types there:
 * modules are read as TypeScript first, plain scripts as what they are. Throws PluginPackageError: a sentence with file:line.
 */
export async function chooseLoader(path: string, text: string): Promise<Loader> {
  if (text.length > sourceLengthMax) {
    throw new PluginPackageError(`${path}: expected at most ${sourceLengthMax} characters, got ${text.length}`);
  }
  const [first, ...others] = loadersOf(path, text);
  if (first === undefined) throw new PluginPackageError(`${path}: expected JavaScript, TypeScript or JSON`);
  if (others.length === 0) return first;
  for (const loader of [first, ...others]) if (await parsesAs(loader, path, text)) return loader;
  // The build that follows says what is wrong.
  return first;
}

/** Whether it looks like one: a line that begins with an import or export. */
function isModule(text: string): boolean {
  return /^[ \t]*(import|export)\b/m.test(text);
}

export async function parsesAs(loader: Loader, path: string, text: string): Promise<boolean> {
  // Needed for installations only: the start of the program does not wait for it.
  const { transform } = await import('esbuild');
  try {
    await transform(text, { loader, sourcefile: path, logLevel: 'silent' });
    return true;
  } catch (error) {
    if (buildError(error, path) instanceof PluginPackageError) return false;
    throw error;
  }
}

function loadersOf(path: string, text: string): readonly Loader[] {
  switch (/\.([cm]?[jt]sx?|json)$/.exec(path)?.[1]) {
    case 'json':
      return ['json'];
    case 'tsx':
    case 'jsx':
      return ['tsx'];
    case 'ts':
    case 'mts':
    case 'cts':
      return ['ts'];
    case undefined:
      return [];
    default:
      return isModule(text) ? ['ts', 'tsx', 'jsx'] : ['js', 'jsx', 'ts'];
  }
}

/** What a build ran into, as one sentence with file and line. Anything else than errors in sources goes on as it is. */
export function buildError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('errors' in error) || !Array.isArray(error.errors)) return error;
  const errors = error.errors as readonly Message[];
  const sentences = errors.slice(0, shownErrors).map(({ text, location }) => {
    const where = location === null ? path : `${location.file}:${location.line}`;
    return `${where}: ${text}`;
  });
  const more = errors.length > shownErrors ? ` (and ${errors.length - shownErrors} more)` : '';
  return new PluginPackageError(`${sentences.join('; ')}${more}`, { cause: error });
}
