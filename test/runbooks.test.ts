import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settingDefinitions, type SettingDefinition } from '../src/server/config/settings.ts';
import { metricDefinitions } from '../src/server/telemetry/metrics.ts';
import { commandTree } from './support/command-tree.ts';
import { renderChart } from './support/render-chart.ts';
import { allFiles, read } from './source-tree.ts';

const path = 'docs/guides/runbooks.md';
const page = read(path);
const sections = new Map(
  page.split(/^## /m).flatMap((text, at) => (at === 0 ? [] : [[text.slice(0, text.indexOf('\n')), text] as const])),
);
interface Alert {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}
const alerts = (parse(read('deploy/alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const inline = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);

describe('the runbooks', () => {
  let commands: ReadonlySet<string>;
  beforeAll(async () => {
    commands = new Set((await commandTree()).keys());
  });

  it('have a section for every alert, and for nothing else', () => {
    expect([...sections.keys()]).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations, labels } of alerts) {
      expect(annotations['runbook_url']).toBe(`${path}#${alert.toLowerCase()}`);
      expect(annotations['summary']).toMatch(/\.$/);
      expect(['warning', 'critical']).toContain(labels['severity']);
    }
  });

  it('are those of alerts that a test fires by a planted fault', () => {
    const tests = read('test/e2e/alerts.test.ts') + read('src/server/service/alerts.services.test.ts');
    expect(alerts.filter(({ alert }) => !tests.includes(`'${alert}'`))).toEqual([]);
  });

  it.each([...sections])(
    'say of %s what it means, how to confirm it, what to do, and when it has ended',
    (_alert, text) => {
      expect([...text.matchAll(/^\*\*(.+?):\*\*/gm)].map(([, part]) => part)).toEqual([
        'Means',
        'Confirm',
        'Do',
        'Ended when',
      ]);
    },
  );

  it('name existing commands, metrics, settings and deployments', () => {
    const named = inline.flatMap((text) => /\bmillrace ([a-z][a-z -]*)$/.exec(text)?.[1] ?? []);
    const ofSystemd = new Set(inline.flatMap((text) => /^systemctl .*millrace|^journalctl/.exec(text)?.[0] ?? []));
    expect(ofSystemd.size).toBe(2);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !commands.has(name))).toEqual([]);
    const metrics = page.match(/\bmillrace_\w+/g) ?? [];
    expect(metrics.filter((name) => !(name in metricDefinitions))).toEqual([]);
    const known = new Set(Object.values(settingDefinitions).map(({ env }: SettingDefinition) => env));
    expect((page.match(/\bMILLRACE_\w+/g) ?? []).filter((name) => !known.has(name))).toEqual([]);
    const deployments = new Set(renderChart().map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`));
    const used = page.match(/\bdeployment\/[\w-]+/g) ?? [];
    expect(used.filter((name) => !deployments.has(name))).toEqual([]);
  });

  it('quote lines that the program logs', () => {
    const quoted = inline.filter((text) => /^(failed|pipeline|slot)\b.* /.test(text));
    expect(quoted.length).toBeGreaterThan(3);
    const sources = allFiles()
      .filter((file) => file.startsWith('src/') && file.endsWith('.ts'))
      .map((file) => read(file));
    expect(quoted.filter((line) => !sources.some((source) => source.includes(`'${line}'`)))).toEqual([]);
  });
});
