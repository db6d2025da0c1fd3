import { readFileSync } from 'node:fs';
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';
import { code, page, table } from './markdown.ts';

const about =
  'Values of the chart `deploy/helm`. [From one machine to a cluster](../guides/scale-out.md#kubernetes) has the commands, ' +
  '`deploy/helm/examples/production.yaml` an example. `values.schema.json` of the chart refuses unknown names.';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** A value of the chart: its path, its default and what the comment above it says. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly type: string;
  readonly default: unknown;
  readonly meaning: string;
}

export function helmValuesPage(): string {
  const values = readChartValues();
  const rows = values.flatMap(({ path: [group, role, ...rest], ...value }) => {
    if (group !== 'roles')
      return [
        rowOf(
          [group, role, ...rest].filter((name) => name !== undefined),
          value,
        ),
      ];
    // Roles have the same values, which the first one explains.
    if (role !== 'capture') return [];
    const defaults = values.filter(({ path }) => path[0] === 'roles' && path.slice(2).join('.') === rest.join('.'));
    const listed = defaults.map((each) => `${each.path[1]}: ${shown(each.default)}`);
    return [[code(['roles', 'ROLE', ...rest].join('.')), value.type, listed.join(', '), value.meaning]];
  });
  return page('Values of the Helm chart', about, table(['Value', 'Type', 'Default', 'Meaning'], rows));
}

const rowOf = (path: readonly string[], value: Omit<ChartValue, 'path'>): string[] => [
  code(path.join('.')),
  value.type,
  shown(value.default),
  value.meaning,
];

const shown = (value: unknown): string => (value === '' ? '' : code(JSON.stringify(value)));

/** Reads values.yaml and values.schema.json. Throws if a value is in one of them only. */
export function readChartValues(): readonly ChartValue[] {
  const chart = new URL('../../deploy/helm/', import.meta.url);
  const schema = JSON.parse(readFileSync(new URL('values.schema.json', chart), 'utf8')) as Schema;
  const document = parseDocument(readFileSync(new URL('values.yaml', chart), 'utf8'));
  if (!isMap(document.contents)) throw new Error('expected values.yaml to be a map');
  return valuesOf(document.contents, schema, schema.definitions ?? {}, []);
}

function valuesOf(
  map: YAMLMap,
  schema: Schema,
  definitions: NonNullable<Schema['definitions']>,
  path: readonly string[],
): readonly ChartValue[] {
  const properties = schema.properties ?? {};
  const names = new Set(map.items.map(nameOf));
  // An umbrella chart gives `global` to every chart.
  const missing = Object.keys(properties).filter((name) => !names.has(name) && name !== 'global');
  if (missing.length > 0) throw new Error(`expected values.yaml to have ${[...path, missing[0]].join('.')}`);
  return map.items.flatMap((pair) => {
    const name = nameOf(pair);
    const declared = properties[name];
    const below = [...path, name];
    if (declared === undefined) throw new Error(`expected values.schema.json to have ${below.join('.')}`);
    const resolved = definitions[declared.$ref?.split('/').at(-1) ?? ''] ?? declared;
    const isGroup = resolved.properties !== undefined && name !== 'autoscaling';
    if (isGroup && isMap(pair.value)) return valuesOf(pair.value, resolved, definitions, below);
    const value = (map.toJSON() as Readonly<Record<string, unknown>>)[name];
    return [{ path: below, type: typeOf(resolved), default: value, meaning: commentOf(map, pair) }];
  });
}

const nameOf = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key);

function typeOf({ type = '', enum: choices }: Schema): string {
  if (choices !== undefined) return `one of ${choices.map(code).join(', ')}`;
  return typeof type === 'string' ? type : type.join(' or ');
}

/** Returns the comment above a value; that of the first one is above its map. */
function commentOf(map: YAMLMap, pair: Pair): string {
  const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
  const text = own ?? (map.items[0] === pair ? map.commentBefore : undefined) ?? '';
  return text
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();
}
