/**
 * Evaluates deploy/alerts.yml on what services really answer: two scrapes of each during a fault, which then continues at the same
 * rate for as long as the alerts wait. Prometheus's own `promtool` evaluates.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { read } from '../source-tree.ts';

const rules = 'deploy/alerts.yml';

/** Longer than any alert waits, and the oldest record that one permits. */
const lastsHours = 8;

/** What Prometheus would have of a target. */
export interface Scrape {
  readonly instance: string;
  readonly atSeconds: number;
  /** Values by series; `undefined` if the target did not answer. */
  readonly values: ReadonlyMap<string, number> | undefined;
}

export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Reads `/metrics` of a service, with the labels that Prometheus adds. */
export async function scrape({ url }: { readonly url: string }): Promise<Scrape> {
  const instance = new URL(url).host;
  const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(10_000) })
    .then((answer) => answer.text())
    .catch(() => undefined);
  return {
    instance,
    atSeconds: performance.now() / 1000,
    values: text === undefined ? undefined : seriesOf(text, instance),
  };
}

function seriesOf(text: string, instance: string): ReadonlyMap<string, number> {
  const used = new Set(read(rules).match(/\bmillrace_\w+/g));
  const lines = text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm);
  return new Map(
    [...lines].flatMap(([, name = '', labels = '', value]) => {
      const all = [`job="any name"`, `instance="${instance}"`, ...(labels === '' ? [] : [labels])].join(',');
      return used.has(name) ? [[`${name}{${all}}`, Number(value)] as const] : [];
    }),
  );
}

/**
 * Returns the alerts that fire after the change between two scrapes of each target has continued for hours. A target that answered
 * only the first time stays away.
 */
export function firingAlerts(targets: readonly (readonly [Scrape, Scrape])[]): readonly string[] {
  const test = {
    rule_files: [resolve(rules)],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: targets.flatMap(([first, last]) => seriesAfter(first, last)),
        promql_expr_test: [
          { expr: 'group by (alertname) (ALERTS{alertstate="firing"})', eval_time: `${lastsHours}h`, exp_samples: [] },
        ],
      },
    ],
  };
  const directory = mkdtempSync(join(tmpdir(), 'millrace-alerts-'));
  try {
    // JSON is YAML.
    writeFileSync(join(directory, 'test.yml'), JSON.stringify(test));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(directory, 'test.yml')], {
      encoding: 'utf8',
    });
    if (status === 0) return [];
    // It expects none, and says what it got instead.
    const [, got] = /^ *got: (.*)$/m.exec(stdout + stderr) ?? [];
    if (got === undefined) throw new Error(`expected promtool to evaluate the alerts, got: ${stdout}${stderr}`);
    return [...got.matchAll(/\{alertname="(\w+)"\}/g)].map(([, name = '']) => name).toSorted();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function seriesAfter(first: Scrape, last: Scrape): readonly { readonly series: string; readonly values: string }[] {
  const up = {
    series: `up{job="any name",instance="${first.instance}"}`,
    values: last.values === undefined ? '1 0x480' : '1x480',
  };
  const names = new Set([...(first.values?.keys() ?? []), ...(last.values?.keys() ?? [])]);
  return [up, ...[...names].map((series) => ({ series, values: continued(series, first, last) }))];
}

/** A measurement of the last window: what changed between two of them does not continue. */
const measurement = 'millrace_source_lag_seconds';

/** Values a minute apart, as promtool writes them. A series that appears between the scrapes starts at 0, as its counter did. */
function continued(series: string, first: Scrape, last: Scrape): string {
  const before = first.values?.get(series) ?? 0;
  if (last.values === undefined) return `${before} stale`;
  const after = last.values.get(series) ?? before;
  if (series.startsWith(measurement)) return `${after}x${lastsHours * 60}`;
  const perMinute = ((after - before) / (last.atSeconds - first.atSeconds)) * 60;
  return `${before}${perMinute < 0 ? '-' : '+'}${Math.abs(perMinute).toFixed(9)}x${lastsHours * 60}`;
}
