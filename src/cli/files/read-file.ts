import { Value } from 'typebox/value';
import { isAlias, LineCounter, parseDocument, type Document } from 'yaml';
import { CommandError } from '../exit-codes.ts';
import { textOf } from '../read-arguments.ts';
import { configurationFileSchema, type ConfigurationFile } from './configuration-file.ts';
import { nearest } from '../../base/nearest.ts';

/** Path to a value in the file: `['projects', 0, 'name']`. */
export type Path = readonly (string | number)[];

export interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** A file that matches the schema. */
export interface ReadFile {
  readonly file: ConfigurationFile;
  /** Formats problems as `millrace.yaml:12:5: projects.0.name: …`, in the order of the file. */
  messages(problems: readonly Problem[]): string[];
}

/**
 * Reads a file. Errors: invalidConfig with every problem, usage when it cannot be read.
 *
 * @param path of the file, or `-` for stdin
 */
export async function readConfigurationFile(path: string, stdin: AsyncIterable<unknown>): Promise<ReadFile> {
  const text = path === '-' ? await textFrom(stdin) : textOf('--file', path);
  return parseConfigurationFile(text, path === '-' ? 'stdin' : path);
}

async function textFrom(stdin: AsyncIterable<unknown>): Promise<string> {
  const parts: string[] = [];
  for await (const part of stdin) parts.push(String(part));
  return parts.join('');
}

/**
 * Parses a file. Errors: invalidConfig with every problem.
 *
 * @param name file name for messages
 */
export function parseConfigurationFile(text: string, name: string): ReadFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, merge: true });
  const [error] = document.errors;
  if (error !== undefined) {
    throw new CommandError('invalidConfig', `${name}: expected YAML; ${error.message.trimEnd()}`, { cause: error });
  }
  const messages = (problems: readonly Problem[]): string[] =>
    problems
      .map((problem) => ({ problem, offset: offsetOf(document, problem.path) }))
      .sort((a, b) => a.offset - b.offset)
      .map(({ problem, offset }) => {
        const { line, col } = lines.linePos(offset);
        const place = problem.path.length === 0 ? '' : `${problem.path.join('.')}: `;
        return `${name}:${line}:${col}: ${place}${problem.message}`;
      });
  const value = valueOf(document, name);
  if (isConfigurationFile(value)) return { file: value, messages };
  throw invalidFile(messages(formProblems(value)));
}

export function invalidFile(problems: readonly string[]): CommandError {
  return new CommandError('invalidConfig', `the file is not valid\n  ${problems.join('\n  ')}`);
}

function valueOf(document: Document.Parsed, name: string): unknown {
  try {
    return document.toJS() as unknown;
  } catch (cause) {
    // An unresolved alias, or nested aliases that would exhaust memory.
    throw new CommandError('invalidConfig', `${name}: ${(cause as Error).message}`, { cause });
  }
}

function isConfigurationFile(value: unknown): value is ConfigurationFile {
  return Value.Check(configurationFileSchema, value);
}

/** Returns every violation of the schema. */
function formProblems(value: unknown): Problem[] {
  return Value.Errors(configurationFileSchema, value).flatMap((error): Problem[] => {
    const path = pathOf(error.instancePath);
    switch (error.keyword) {
      // Repeats additionalProperties of the parent.
      case 'boolean':
        return [];
      case 'additionalProperties':
        return error.params.additionalProperties.map((key) => ({
          path: [...path, key],
          message: unknownKey(path, key),
        }));
      case 'required':
        return error.params.requiredProperties.map((key) => ({ path, message: `expected "${key}"` }));
      case 'type':
        return [{ path, message: `expected ${wordOf(error.params.type)}, got ${kindOf(valueAt(value, path))}` }];
      case 'const':
        return [{ path, message: `expected ${JSON.stringify(error.params.allowedValue)}` }];
      default:
        return [{ path, message: error.message }];
    }
  });
}

function unknownKey(path: Path, key: string): string {
  const known = knownKeys(path);
  const near = nearest(key, known);
  return near === undefined
    ? `unknown key; expected one of ${known.join(', ')}`
    : `unknown key; did you mean "${near}"?`;
}

function knownKeys(path: Path): string[] {
  const { properties } = configurationFileSchema;
  if (path.length === 0) return Object.keys(properties);
  if (path[0] === 'plugins') return ['source'];
  const project = properties.projects.items.properties;
  return Object.keys(path.length === 2 ? project : project.transformations.items.properties);
}

function pathOf(pointer: string): Path {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, step) => (at as Readonly<Record<string | number, unknown>> | null)?.[step], value);
}

/** Never returns the value, which may be a misplaced secret. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : wordOf(typeof value);
}

function wordOf(type: string | readonly string[]): string {
  const words: Readonly<Record<string, string>> = {
    object: 'keys with values',
    array: 'a list',
    string: 'text',
    number: 'a number',
    boolean: 'true or false',
  };
  return [type]
    .flat()
    .map((each) => words[each] ?? each)
    .join(' or ');
}

/** Returns where a value starts, or the nearest node around it. */
function offsetOf(document: Document.Parsed, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as
      | { range?: readonly [number, number, number] }
      | undefined;
    if (node?.range !== undefined && !isAlias(node)) return node.range[0];
  }
  return document.contents?.range[0] ?? 0;
}
