/**
 * Lints the files of deploy/ with the programs of those who run them: `node tools/lint-deploy.ts [schema location …]`.
 *
 * helm lints the chart and renders it as `renderChart` of the tests does, kubeconform validates what it renders, promtool the alerts,
 * and docker compose the compose files. A program that is not installed is skipped with a message. Schema locations are those of
 * `kubeconform -schema-location`; the default ones are downloaded. Exits with 1 if a program refuses a file.
 */
import { spawnSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { chartValues } from '../test/support/chart-values.ts';
import { documentsOf, renderChart, type Manifest, type Values } from '../test/support/render-chart.ts';

const chart = 'deploy/helm';
/** Of Kubernetes: the oldest that the chart permits, and the newest that it was checked with. */
const kubeVersions = ['1.27.0', '1.37.0'];
const programs: Readonly<Record<string, readonly string[]>> = {
  helm: ['version'],
  kubeconform: ['-v'],
  promtool: ['--version'],
  docker: ['compose', 'version'],
};

interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

process.exitCode = main(process.argv.slice(2));

function main(locations: readonly string[]): number {
  const installed = new Set(Object.keys(programs).filter((program) => run(program, programs[program] ?? []).ok));
  const lint = (program: string, file: string, args: readonly string[], input = ''): boolean => {
    if (!installed.has(program)) {
      console.log(
        `skipped  ${file}: ${[program, ...(program === 'docker' ? ['compose'] : [])].join(' ')} is not installed`,
      );
      return true;
    }
    const { ok, output } = run(program, args, input);
    console.log(`${ok ? 'ok     ' : 'failed '}  ${[program, ...args].join(' ')} (${file})`);
    if (!ok) console.error(output);
    return ok;
  };
  const chartOk = Object.entries(chartValues).map(([name, values]) => {
    const input = JSON.stringify(values);
    const isValid = lint('helm', name, ['lint', '--strict', chart, '--values', '-'], input);
    return installed.has('helm') ? isValid && lintRendered(name, values, locations, lint) : isValid;
  });
  const others = [
    lint('promtool', 'alerts', ['check', 'rules', 'deploy/alerts.yml']),
    ...['deploy/compose.yml', 'deploy/compose.cluster.yml'].map((file) =>
      lint('docker', file, ['compose', '--file', file, 'config', '--quiet']),
    ),
  ];
  return [...chartOk, ...others].every(Boolean) ? 0 : 1;
}

function lintRendered(
  name: string,
  values: Values,
  locations: readonly string[],
  lint: (program: string, file: string, args: readonly string[], input: string) => boolean,
): boolean {
  const given = locations.flatMap((location) => ['-schema-location', location]);
  const rendered = kubeVersions.map((version) => {
    const args = ['template', 'millrace', chart, '--kube-version', version, '--values', '-'];
    const { ok, output } = run('helm', args, JSON.stringify(values));
    if (!ok) {
      console.error(output);
      return false;
    }
    const isSame = isDeepStrictEqual(sorted(documentsOf(output)), sorted(renderChart(values)));
    if (!isSame) console.error(`expected helm to render ${name} as renderChart does, got other manifests`);
    return lint('kubeconform', name, ['-strict', '-kubernetes-version', version, ...given], output) && isSame;
  });
  return rendered.every(Boolean);
}

function sorted(list: readonly Manifest[]): readonly Manifest[] {
  const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;
  return list.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

function run(program: string, args: readonly string[], input = ''): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', input });
  if (error !== undefined) return { ok: false, output: error.message };
  return { ok: status === 0, output: status === 0 ? stdout : stdout + stderr };
}
