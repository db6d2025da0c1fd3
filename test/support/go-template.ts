/**
 * The part of Go's templates that the chart uses: range, if, else, define, and calls of the functions below. Any other word is an
 * error, so a template that this reader accepts has no other meaning for Helm, which `tools/lint-deploy.ts` compares.
 */
export type Scope = Readonly<Record<string, unknown>>;
type Variables = ReadonlyMap<string, unknown>;
type Node =
  | { readonly text: string }
  | { readonly call: string }
  | { readonly head: string; readonly body: readonly Node[]; readonly otherwise: readonly Node[] };
interface Parsed {
  readonly nodes: readonly Node[];
  readonly end: string;
  readonly rest: readonly string[];
}

/** Renders templates that share their definitions. `root` is what a leading `.` and `$` refer to. */
export function renderTemplates(templates: readonly string[], root: Scope): readonly string[] {
  const parsed = templates.map((template) => parseNodes(tokensOf(template)));
  for (const { end } of parsed) if (end !== '') throw new Error(`expected a beginning of "${end}"`);
  const named = new Map<string, readonly Node[]>();
  for (const { nodes } of parsed) {
    for (const node of nodes) {
      const name = 'head' in node ? /^define "(.+)"$/.exec(node.head)?.[1] : undefined;
      if (name !== undefined && 'body' in node) named.set(name, node.body);
    }
  }
  const variables = new Map<string, unknown>([
    ['$', root],
    ['.', root],
  ]);
  return parsed.map(({ nodes }) => createWriter(named)(nodes, variables));
}

function tokensOf(template: string): readonly string[] {
  return (
    template
      // A dash at the brace removes the white space next to it.
      .replaceAll(/\s*\{\{-/g, '{{')
      .replaceAll(/-\}\}\s*/g, '}}')
      .split(/(\{\{.*?\}\})/)
  );
}

function parseNodes(tokens: readonly string[]): Parsed {
  const nodes: Node[] = [];
  let rest = tokens;
  while (rest.length > 0) {
    const [token = '', ...after] = rest;
    rest = after;
    const word = /^\{\{\s*(.*?)\s*\}\}$/.exec(token)?.[1];
    if (word === undefined) nodes.push({ text: token });
    else if (word === 'end' || word === 'else') return { nodes, end: word, rest };
    else if (/^(range|if|define) /.test(word)) {
      const body = parseNodes(rest);
      const otherwise = body.end === 'else' ? parseNodes(body.rest) : { ...body, nodes: [] };
      if (otherwise.end !== 'end') throw new Error(`expected an "end" of "${word}"`);
      nodes.push({ head: word, body: body.nodes, otherwise: otherwise.nodes });
      rest = otherwise.rest;
    } else nodes.push({ call: word });
  }
  return { nodes, end: '', rest };
}

type Write = (nodes: readonly Node[], variables: Variables) => string;

function createWriter(named: ReadonlyMap<string, readonly Node[]>): Write {
  const include = (name: unknown, root: unknown): string => {
    const nodes = named.get(String(name));
    if (nodes === undefined) throw new Error(`expected a known template, got: ${String(name)}`);
    return write(
      nodes,
      new Map([
        ['$', root],
        ['.', root],
      ]),
    );
  };
  const write: Write = (nodes, variables) =>
    nodes
      .map((node) => {
        if ('text' in node) return node.text;
        if ('call' in node) return String(evaluate(node.call, variables, include));
        return block(node.head, node.body, node.otherwise, variables);
      })
      .join('');
  const block = (head: string, body: readonly Node[], otherwise: readonly Node[], variables: Variables): string => {
    if (head.startsWith('define ')) return '';
    const condition = /^if (.+)$/.exec(head)?.[1];
    if (condition !== undefined)
      return write(isTrue(evaluate(condition, variables, include)) ? body : otherwise, variables);
    const [, key, value, of] = /^range (\$\w+), (\$\w+) := (.+)$/.exec(head) ?? [];
    if (key === undefined || value === undefined || of === undefined)
      throw new Error(`expected a known word, got: ${head}`);
    const list = evaluate(of, variables, include);
    // As Go does, a map by name.
    const entries = Object.entries(list as object);
    if (!Array.isArray(list)) entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return entries.map(([name, each]) => write(body, new Map([...variables, [key, name], [value, each]]))).join('');
  };
  return write;
}

function isTrue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

const functions: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {
  quote: (value) => JSON.stringify(String(value)),
  toJson: (value) => JSON.stringify(value),
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  eq: (one, other) => one === other,
  not: (value) => !isTrue(value),
  list: (...values) => values,
  dict: (...values) => Object.fromEntries(values.flatMap((name, at) => (at % 2 === 0 ? [[name, values[at + 1]]] : []))),
  merge: (first, second) => ({ ...(second as object), ...(first as object) }),
  replace: (from, to, text) => String(text).replaceAll(String(from), String(to)),
  nindent: (by, text) => `\n${String(text).replaceAll(/^/gm, ' '.repeat(Number(by)))}`,
};

type Include = (name: unknown, root: unknown) => string;

/** Evaluates a pipeline of calls: the value of one is the last argument of the next. */
function evaluate(pipeline: string, variables: Variables, include: Include): unknown {
  return pipeline.split(/\s*\|\s*/).reduce<unknown>((piped, call, at) => {
    const [name = '', ...args] = call.match(/\([^)]*\)|"[^"]*"|\S+/g) ?? [];
    const given = [...args.map((arg) => argumentOf(arg, variables, include)), ...(at > 0 ? [piped] : [])];
    if (name === 'include') return include(given[0], given[1]);
    if (name in functions) return functions[name]?.(...given);
    if (given.length === 0) return argumentOf(name, variables, include);
    // The one method of an object that the chart calls.
    if (name.endsWith('.Files.Get')) return (valueAt(name, variables) as (path: unknown) => string)(given[0]);
    throw new Error(`expected a known function, got: ${name}`);
  }, undefined);
}

function argumentOf(text: string, variables: Variables, include: Include): unknown {
  if (text.startsWith('(')) return evaluate(text.slice(1, -1), variables, include);
  if (text.startsWith('"')) return text.slice(1, -1);
  return /^\d+$/.test(text) ? Number(text) : valueAt(text, variables);
}

function valueAt(path: string, variables: Variables): unknown {
  if (path === '.') return variables.get('.');
  const [first = '', ...names] = path.startsWith('.') ? ['.', ...path.slice(1).split('.')] : path.split('.');
  if (!variables.has(first)) throw new Error(`expected a known variable, got: ${path}`);
  return names.reduce<unknown>((value, name) => {
    const found = (value as Record<string, unknown> | undefined)?.[name];
    if (found === undefined) throw new Error(`expected ${path} to be in the values, got nothing at "${name}"`);
    return found;
  }, variables.get(first));
}
