import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

/** The repository as the house rules see it: files, imports, functions. Paths are relative to the root, with `/`. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const skippedFolders = new Set(['node_modules', '.git', 'data', 'coverage', 'dist', '.vitest', '.cache', '.temp']);

/** Every file of the repository, sorted. */
export function allFiles(): string[] {
  const found: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!skippedFolders.has(entry.name)) visit(path);
      } else if (entry.isFile()) found.push(relative(root, path).replaceAll('\\', '/'));
    }
  };
  visit(root);
  return found.sort();
}

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** Modules as written in the source, with the line where each stands. */
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionSpan[];
  /** Every node of the syntax tree, for rules about single constructs. */
  readonly nodes: readonly AstNode[];
  lineOf(offset: number): number;
}

export interface Import {
  readonly specifier: string;
  /** Path in the repository; undefined: a package. */
  readonly target: string | undefined;
  readonly typeOnly: boolean;
  readonly line: number;
}

export interface FunctionSpan {
  readonly name: string;
  readonly line: number;
  /** Lines from the first to the last, less those of test cases nested in it. */
  readonly length: number;
}

export interface AstNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Parses every given TypeScript or JavaScript file. */
export function parseFiles(paths: readonly string[]): SourceFile[] {
  return paths.map(parseFile);
}

function parseFile(path: string): SourceFile {
  const text = read(path);
  const language = path.endsWith('x') ? 'tsx' : 'ts';
  const program: unknown = parseAst(
    text.replace(/^#!.*/, (line) => ' '.repeat(line.length)),
    { lang: language },
    path,
  );
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  const lineOf = (offset: number): number => {
    let line = 0;
    while (line < lineStarts.length && (lineStarts[line] ?? Infinity) <= offset) line += 1;
    return line;
  };
  const nodes: AstNode[] = [];
  collect(program, nodes);
  return {
    path,
    text,
    lines: text.split('\n'),
    imports: nodes.flatMap((node) => importOf(path, node, lineOf)),
    functions: functionSpans(nodes, lineOf),
    nodes,
    lineOf,
  };
}

export function isAstNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

function collect(value: unknown, nodes: AstNode[]): void {
  if (Array.isArray(value)) for (const item of value) collect(item, nodes);
  else if (isAstNode(value)) {
    nodes.push(value);
    for (const key in value) if (typeof value[key] === 'object') collect(value[key], nodes);
  }
}

/** The name of an identifier or the text of a literal; undefined for anything else. */
export function plainText(value: unknown): string | undefined {
  if (!isAstNode(value)) return undefined;
  const { name, value: literal } = value as { name?: unknown; value?: unknown };
  if (typeof name === 'string') return name;
  return typeof literal === 'string' ? literal : undefined;
}

/** Whether the node reads `object.property`, e.g. `process.env`. */
export function isMember(node: AstNode, object: string, property: string): boolean {
  return (
    node.type === 'MemberExpression' && plainText(node['object']) === object && plainText(node['property']) === property
  );
}

const importTypes = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
]);

function importOf(path: string, node: AstNode, lineOf: (offset: number) => number): Import[] {
  const specifier = importTypes.has(node.type) ? plainText(node['source']) : fileUrlOf(node);
  if (specifier === undefined) return [];
  const target = specifier.startsWith('.') ? posix.normalize(posix.join(posix.dirname(path), specifier)) : undefined;
  const typeOnly = node['importKind'] === 'type' || node['exportKind'] === 'type' || onlyInlineTypes(node);
  return [{ specifier, target, typeOnly, line: lineOf(node.start) }];
}

function onlyInlineTypes(node: AstNode): boolean {
  const specifiers = node['specifiers'];
  if (!Array.isArray(specifiers) || specifiers.length === 0) return false;
  return specifiers.every(
    (item) => isAstNode(item) && (item['importKind'] === 'type' || item['exportKind'] === 'type'),
  );
}

/** `new URL('./thread.ts', import.meta.url)`: how threads and child processes name their entry. */
function fileUrlOf(node: AstNode): string | undefined {
  if (node.type !== 'NewExpression' || plainText(node['callee']) !== 'URL') return undefined;
  const [first, second] = node['arguments'] as unknown[];
  const isRelative = isAstNode(second) && second.type === 'MemberExpression' && plainText(second['property']) === 'url';
  return isRelative ? plainText(first) : undefined;
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

function functionSpans(nodes: readonly AstNode[], lineOf: (offset: number) => number): FunctionSpan[] {
  const names = new Map<unknown, string>();
  for (const node of nodes) {
    const name = plainText(node['id']) ?? plainText(node['key']);
    if (name === undefined) continue;
    for (const value of [node, node['init'], node['value']]) if (isAstNode(value)) names.set(value, name);
  }
  const tests = nodes.filter(isTestCase);
  // A group of tests is a list, not a piece of logic.
  const groups = new Set(tests.filter((node) => calleeName(node) === 'describe').flatMap((node) => node['arguments']));
  return nodes
    .filter((node) => functionTypes.has(node.type) && !groups.has(node))
    .map((node) => {
      const inside = outermost(tests.filter((test) => test.start > node.start && test.end < node.end));
      const nested = inside.reduce((sum, test) => sum + lineOf(test.end) - lineOf(test.start) + 1, 0);
      const length = lineOf(node.end) - lineOf(node.start) + 1 - nested;
      return { name: names.get(node) ?? '(anonymous)', line: lineOf(node.start), length };
    });
}

function outermost(nodes: readonly AstNode[]): AstNode[] {
  return nodes.filter((node) => !nodes.some((other) => other.start < node.start && other.end > node.end));
}

/** A call of describe, it or test, also as `it.each(…)(…)`. */
function isTestCase(node: AstNode): boolean {
  return node.type === 'CallExpression' && ['describe', 'it', 'test'].includes(calleeName(node) ?? '');
}

function calleeName(node: AstNode): string | undefined {
  let callee: unknown = node['callee'];
  while (isAstNode(callee) && plainText(callee) === undefined) callee = callee['object'] ?? callee['callee'];
  return plainText(callee);
}
