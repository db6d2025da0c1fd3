import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const page = new URL('../../docs/benchmarks-log.md', import.meta.url);

/** `| 100 live | 253 k | 513 k | **0.52** (…) |` → "100 live 0.52": the ratios of a table, by the name of their row. */
function ratiosOf(tables: string): string {
  const ratios = tables.split('\n').flatMap((line) => {
    const [, name, ratio] = /^\| ([^|]+?) \|.*?\*\*(\d+\.\d+)\*\*/.exec(line) ?? [];
    return name === undefined ? [] : [`${name} ${ratio}`];
  });
  return ratios.join(', ');
}

/** Adds a row to the history, the last table of the benchmark log: date, commit and the ratios of each part. */
export function keepHistory(parts: readonly { readonly title: string; readonly tables: string }[]): void {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
  const ratios = parts.map(({ title, tables }) => `${title.split(' ')[0]} ${ratiosOf(tables)}`).join('; ');
  appendFileSync(page, `| ${new Date().toISOString().slice(0, 10)} | ${commit} | ${ratios} |\n`);
}
