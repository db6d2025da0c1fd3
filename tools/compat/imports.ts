/**
 * Imports published sample files, each with the real command into a separate project of the real service:
 * `node tools/compat/imports.ts FOLDER [--only WORD | --write]`.
 *
 * FOLDER holds `index.json`, a list of samples (see `Sample`), and the files that it names. Prints the table that stands in
 * docs/compatibility.md; `--write` puts it there; `--only` tries those with the
 * word in tool or path. Exits with 1 when an import ends otherwise than its sample expects.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { importSample, type Sample, type SampleResult } from './import-sample.ts';
import { sampleTable } from './sample-table.ts';
import { startService } from './service.ts';

const page = new URL('../../docs/compatibility.md', import.meta.url);
const tableForm = /(<!-- samples -->\n)[\s\S]*?(<!-- \/samples -->)/;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { only: { type: 'string', default: '' }, write: { type: 'boolean', default: false } },
  });
  const [folder] = positionals;
  if (folder === undefined || (values.write && values.only !== '')) {
    console.error('usage: node tools/compat/imports.ts FOLDER [--only WORD | --write]');
    return 2;
  }
  const all = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as readonly Sample[];
  const samples = all.filter(({ tool, path }) => `${tool} ${path}`.includes(values.only));
  const directory = await mkdtemp(join(tmpdir(), 'millrace-samples-'));
  try {
    const results = await importAll(directory, folder, samples);
    const table = sampleTable(results);
    console.log(table);
    if (values.write) await writeTable(table);
    return results.every(({ isAsExpected }) => isAsExpected) ? 0 : 1;
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function importAll(directory: string, folder: string, samples: readonly Sample[]): Promise<SampleResult[]> {
  await using service = await startService(directory, {});
  const results: SampleResult[] = [];
  for (const sample of samples) {
    const result = await importSample(service, { directory, folder, sample, index: results.length });
    const mark = result.isAsExpected ? '' : '! ';
    console.error(`${mark}${result.verdict.padEnd(12)} ${sample.tool}: ${sample.path} ${result.note}`);
    results.push(result);
  }
  return results;
}

async function writeTable(table: string): Promise<void> {
  const before = await readFile(page, 'utf8');
  if (!tableForm.test(before))
    throw new Error('expected <!-- samples --> … <!-- /samples --> in docs/compatibility.md');
  await writeFile(
    page,
    before.replace(tableForm, (_all, begin: string, end: string) => `${begin}\n${table}\n\n${end}`),
  );
}
