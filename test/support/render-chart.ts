import { execFileSync } from 'node:child_process';
import { parse, parseAllDocuments } from 'yaml';
import { allFiles, read } from '../source-tree.ts';

const chart = 'deploy/helm';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Whether `helm` is installed. */
export function hasHelm(): boolean {
  try {
    execFileSync('helm', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What `helm template millrace deploy/helm` prints, as documents. `values`: instead of the chart's. */
export function renderByHelm(values: Readonly<Record<string, unknown>> = {}): readonly Manifest[] {
  execFileSync('helm', ['lint', '--strict', chart], { stdio: ['ignore', 'ignore', 2] });
  const args = ['template', 'millrace', chart, '--values', '-'];
  return documentsOf(execFileSync('helm', args, { encoding: 'utf8', input: JSON.stringify(values) }));
}

/** The same by a reader of the few words of Go's templates that the chart uses; any other word is an error. `values`: instead of the chart's. */
export function renderByHand(values: Readonly<Record<string, unknown>> = {}): readonly Manifest[] {
  const defaults = parse(read(`${chart}/values.yaml`)) as object;
  const root = { Values: { ...defaults, ...values }, Release: { Name: 'millrace' } };
  const templates = allFiles().filter((path) => path.startsWith(`${chart}/templates/`));
  return templates.flatMap((path) => documentsOf(render(read(path), root)));
}

function documentsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0] ?? new Error('expected YAML');
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}

type Variables = ReadonlyMap<string, unknown>;
type Node =
  | { readonly text: string }
  | { readonly word: string }
  | { readonly head: string; readonly body: readonly Node[] };

function render(template: string, root: unknown): string {
  const tokens = template
    // A dash at the brace takes the white space beside it away.
    .replaceAll(/\s*\{\{-/g, '{{')
    .replaceAll(/-\}\}\s*/g, '}}')
    .split(/(\{\{.*?\}\})/);
  const { nodes, rest } = parseNodes(tokens);
  if (rest.length > 0) throw new Error('expected every "end" to have its beginning');
  return write(nodes, new Map([['$', root]]));
}

function parseNodes(tokens: readonly string[]): { nodes: Node[]; rest: readonly string[] } {
  const nodes: Node[] = [];
  let rest = tokens;
  while (rest.length > 0) {
    const [token = '', ...after] = rest;
    rest = after;
    const word = /^\{\{\s*(.*?)\s*\}\}$/.exec(token)?.[1];
    if (word === undefined) nodes.push({ text: token });
    else if (word === 'end') return { nodes, rest };
    else if (/^(range|if) /.test(word)) {
      const inner = parseNodes(rest);
      nodes.push({ head: word, body: inner.nodes });
      rest = inner.rest;
    } else nodes.push({ word });
  }
  return { nodes, rest };
}

function write(nodes: readonly Node[], variables: Variables): string {
  return nodes
    .map((node) => {
      if ('text' in node) return node.text;
      if ('word' in node) return evaluate(node.word, variables);
      return writeBlock(node.head, node.body, variables);
    })
    .join('');
}

function writeBlock(head: string, body: readonly Node[], variables: Variables): string {
  const condition = /^if (\S+)$/.exec(head)?.[1];
  if (condition !== undefined) return valueAt(condition, variables) === true ? write(body, variables) : '';
  const [, key, value, path] = /^range (\$\w+), (\$\w+) := (\S+)$/.exec(head) ?? [];
  if (key === undefined || value === undefined || path === undefined)
    throw new Error(`expected a known word, got: ${head}`);
  // As Go does, by name.
  const entries = Object.entries(valueAt(path, variables) as object).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return entries.map(([name, each]) => write(body, new Map([...variables, [key, name], [value, each]]))).join('');
}

function evaluate(word: string, variables: Variables): string {
  const [path = '', filter] = word.split(/\s*\|\s*/);
  const value = valueAt(path, variables);
  if (filter === 'quote') return JSON.stringify(String(value));
  if (filter === 'toJson') return JSON.stringify(value);
  if (filter !== undefined) throw new Error(`expected a known filter, got: ${filter}`);
  return String(value);
}

function valueAt(path: string, variables: Variables): unknown {
  const [first = '', ...names] = path.startsWith('.') ? ['$', ...path.slice(1).split('.')] : path.split('.');
  if (!variables.has(first)) throw new Error(`expected a known variable, got: ${path}`);
  return names.reduce<unknown>((value, name) => {
    const found = (value as Record<string, unknown> | undefined)?.[name];
    if (found === undefined) throw new Error(`expected ${path} to be in the values, got nothing at "${name}"`);
    return found;
  }, variables.get(first));
}
