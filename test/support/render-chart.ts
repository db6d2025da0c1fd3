import { parse, parseAllDocuments } from 'yaml';
import { allFiles, read } from '../source-tree.ts';
import { renderTemplates } from './go-template.ts';

const chart = 'deploy/helm';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

export type Values = Readonly<Record<string, unknown>>;

/** Renders the chart as `helm template millrace deploy/helm` does. `values` are merged into those of the chart. */
export function renderChart(values: Values = {}): readonly Manifest[] {
  const { name, version, appVersion } = parse(read(`${chart}/Chart.yaml`)) as Readonly<Record<string, string>>;
  const root = {
    Values: valuesOfChart(values),
    Release: { Name: 'millrace', Namespace: 'default', Service: 'Helm' },
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Files: { Get: (path: string) => read(`${chart}/${path}`) },
  };
  const paths = allFiles().filter((path) => path.startsWith(`${chart}/templates/`));
  const texts = renderTemplates(
    paths.map((path) => read(path)),
    root,
  );
  return texts.flatMap((text, at) => (paths[at]?.endsWith('.yaml') === true ? documentsOf(text) : []));
}

/** Returns the values of the chart with `values` merged into them. */
export function valuesOfChart(values: Values): Values {
  return merged(parse(read(`${chart}/values.yaml`)) as Values, values);
}

/** Merges maps, and replaces everything else, as Helm does. */
function merged(base: Values, values: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = Object.entries(values).map(([name, value]) => {
    const below = base[name];
    return [name, isMap(below) && isMap(value) ? merged(below, value) : value] as const;
  });
  return { ...base, ...Object.fromEntries(entries) };
}

export function documentsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0] ?? new Error('expected YAML');
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}
