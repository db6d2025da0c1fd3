import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricDefinitions, type MetricName } from '../src/server/telemetry/metrics.ts';
import { read } from './source-tree.ts';

/** Labels that the scraper adds to every series. */
const ofTheScrape = new Set(['job', 'instance']);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

const dashboard = JSON.parse(read('deploy/grafana.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
};
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat = '' }) => ({ title, expr, legendFormat })),
);
const alerts = (
  parse(read('deploy/alerts.yml')) as { groups: { rules: { alert: string; expr: string }[] }[] }
).groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ title: alert, expr, legendFormat: '' })));

/** A declared metric and the labels of its series; undefined: nothing of this name is exported. */
function seriesOf(name: string): readonly string[] | undefined {
  const [, base = name, part] = /^(.+)_(bucket|sum|count)$/.exec(name) ?? [];
  const declared = metricDefinitions[(name in metricDefinitions ? name : base) as MetricName] as
    | { readonly kind: string; readonly labels: readonly string[] }
    | undefined;
  if (declared === undefined) return undefined;
  // A histogram is only there in its parts, anything else only whole.
  if ((declared.kind === 'histogram') !== (part !== undefined && base in metricDefinitions)) return undefined;
  return part === 'bucket' ? [...declared.labels, 'le'] : declared.labels;
}

/** What is wrong with an expression: metrics that are not declared, labels that they do not have. */
function faultsOf({ expr, legendFormat }: { readonly expr: string; readonly legendFormat: string }): string[] {
  const selectors = [...expr.matchAll(/\b(millrace_\w+)(?:\{([^}]*)\})?/g)];
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const faults = selectors.flatMap(([, name = '', matchers = '']) => {
    const labels = seriesOf(name);
    if (labels === undefined) return [`no metric ${name}`];
    const asked = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    const unknown = [...asked, ...grouped].filter((label) => !labels.includes(label) && !ofTheScrape.has(label));
    return unknown.map((label) => `${name} has no label ${label}`);
  });
  const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  return [...faults, ...shown.filter((label) => !grouped.includes(label)).map((label) => `${label} is not grouped by`)];
}

describe('the dashboard and the alerts', () => {
  it.each([...queries, ...alerts])(
    '$title: $expr asks for metrics that there are, by labels that they have',
    (query) => {
      expect(faultsOf(query)).toEqual([]);
    },
  );

  it('no alert depends on the name of a job', () => {
    expect(alerts.filter(({ expr }) => /\bjob\s*=/.test(expr))).toEqual([]);
  });

  it('an undeclared metric, label or part is detected', () => {
    const faults = (expr: string, legendFormat = ''): string[] => faultsOf({ expr, legendFormat });
    expect(faults('rate(millrace_events_total[5m])')).toEqual(['no metric millrace_events_total']);
    expect(faults('millrace_buffer_events{route="/"}')).toEqual(['millrace_buffer_events has no label route']);
    expect(faults('sum by (stage) (millrace_import_runs)')).toEqual(['millrace_import_runs has no label stage']);
    expect(faults('millrace_store_insert_seconds')).toEqual(['no metric millrace_store_insert_seconds']);
    expect(faults('millrace_buffer_events_sum')).toEqual(['no metric millrace_buffer_events_sum']);
    expect(faults('sum by (lane) (millrace_buffer_events)', '{{slot}}')).toEqual(['slot is not grouped by']);
  });

  it('the dashboard uses only its own variables, and every panel has a query', () => {
    const names = new Set(dashboard.templating.list.map(({ name }) => name));
    const used = [...read('deploy/grafana.json').matchAll(/\$\{?([a-z_]+)\}?/g)].map(([, name = '']) => name);
    expect([...new Set(used)].filter((name) => !name.startsWith('__') && !names.has(name))).toEqual([]);
    const variables = dashboard.templating.list.flatMap(
      ({ definition = '' }) => definition.match(/millrace_\w+/) ?? [],
    );
    expect(variables.filter((name) => seriesOf(name) === undefined)).toEqual([]);
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.filter(({ expr }) => !expr.includes('instance=~"$instance"'))).toEqual([]);
  });
});
