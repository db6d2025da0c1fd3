/**
 * Proves that exports as dirty as real ones are imported right: `npm run prove -- real-exports [--formats mixpanel,amplitude]
 * [--records 20000] [--seeds 1] [--threads 1,2] [--results file] [--resume]`.
 *
 * For each format and seed three files of unequal size are generated, plain and gzip, the last one cut off. For each number of threads the
 * command imports them into a fresh project of a real service. Counts, exit codes, the stored events with every digit, the ids of each
 * person and the times in its properties are compared with the oracle of the generator (test/support/dirty-exports). Each result is appended to the results
 * file; with `--resume` what it has is not done again.
 */
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { Session } from 'chdb';
import { formNames, formOf, probePattern, textOf } from '../../test/support/dirty-exports/dirty-exports.ts';
import type { DirtyRecord } from '../../test/support/dirty-exports/dirty-record.ts';
import { personText, storedGroups, storedPersons } from '../../test/support/dirty-exports/persons.ts';
import { createOracle, type Oracle, type OraclePerson } from '../../test/support/dirty-exports/oracle.ts';
import { launchService, provedKeys, stopService, untilServiceReady } from './proved-service.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    formats: { type: 'string', default: formNames.join(',') },
    records: { type: 'string', default: '20000' },
    seeds: { type: 'string', default: '1' },
    threads: { type: 'string', default: '1,2' },
    results: { type: 'string', default: 'real-exports.ndjson' },
    resume: { type: 'boolean', default: false },
  },
});
const records = Number(values.records);

/** What is compared, by name. */
type Figures = Readonly<Record<string, string | number>>;

interface Cell {
  readonly cell: string;
  readonly seconds: number;
  readonly expected: Figures;
  readonly got: Figures;
}

const done = new Map<string, Cell>();
if (values.resume && existsSync(values.results)) {
  for (const line of readFileSync(values.results, 'utf8').split('\n').filter(Boolean)) {
    // What this program appended.
    const cell = JSON.parse(line) as Cell;
    done.set(cell.cell, cell);
  }
}
for (const format of values.formats.split(',')) {
  for (const seed of values.seeds.split(',')) {
    const wanted = values.threads.split(',').map((threads) => ({ threads, cell: nameOf(format, seed, threads) }));
    const left = wanted.filter(({ cell }) => !done.has(cell));
    if (left.length > 0) await prove(format, Number(seed), left);
    for (const { cell } of wanted) show(done.get(cell));
  }
}

function nameOf(format: string, seed: string, threads: string): string {
  return `${format} × seed ${seed} × ${threads} threads, ${records} records`;
}

function show(cell: Cell | undefined): void {
  if (cell === undefined) return;
  const wrong = Object.keys(cell.expected).filter((name) => cell.expected[name] !== cell.got[name]);
  console.log(`${wrong.length === 0 ? 'right' : 'WRONG'}  ${cell.cell}, ${cell.seconds.toFixed(0)} s`);
  console.table(
    Object.fromEntries(
      Object.keys(cell.expected).map((name) => [name, { expected: cell.expected[name], got: cell.got[name] }]),
    ),
  );
  if (wrong.length > 0) process.exitCode = 1;
}

/** One generation and one service for all numbers of threads, each with a separate project. */
async function prove(format: string, seed: number, cells: readonly { threads: string; cell: string }[]): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-real-'));
  const {
    expected,
    persons: expectedPersons,
    groups: expectedGroups,
  } = await writeExport(join(dir, 'export'), format, seed);
  const service = await launchService(join(dir, 'data'), { MILLRACE_LOG_LEVEL: 'error' });
  const runs: { readonly cell: string; readonly project: number; readonly seconds: number; readonly said: Figures }[] =
    [];
  try {
    await untilServiceReady(service);
    for (const { threads, cell } of cells) {
      const { id, api_token: key } = await createProject(service.url, cell);
      const begun = performance.now();
      const said = await runImport({ format, files: `${join(dir, 'export')}-*`, url: service.url, key, threads, dir });
      runs.push({ cell, project: id, seconds: (performance.now() - begun) / 1000, said });
    }
  } finally {
    await stopService(service);
  }
  const store = new Session(join(dir, 'data', 'events'));
  for (const { cell, project, seconds, said } of runs) {
    const persons = storedPersons(join(dir, 'data'), project);
    const groups = expectedGroups.size === 0 ? {} : groupFigures(storedGroups(join(dir, 'data'), project));
    const got = { ...said, ...(await storedFigures(store, project)), ...partition(persons), ...groups };
    showDifference(expectedPersons, persons);
    const result: Cell = { cell, seconds, expected, got };
    done.set(cell, result);
    appendFileSync(values.results, `${JSON.stringify(result)}\n`);
  }
  store.close();
  rmSync(dir, { recursive: true, force: true });
}

/** Three files of unequal size; returns what must be stored of them. */
async function writeExport(path: string, format: string, seed: number): Promise<Made> {
  const { make, heading, isText } = formOf(format);
  const extension = heading === undefined ? (isText ? 'tsv' : 'ndjson') : 'csv';
  const sum = createSum();
  const oracle = createOracle((event) => sum.add(textOf(event)));
  const made = make(seed, records);
  const ends = [Math.floor(records * 0.62), Math.floor(records * 0.99), records];
  let at = 0;
  const some = function* (end: number): Generator<string> {
    let text = heading === undefined ? '' : `${heading}\n`;
    for (; at < end; at += 1) {
      const { value, done: isOver } = made.next();
      if (isOver === true) break;
      const record: DirtyRecord = value;
      oracle.add(record);
      // The last line of the export has no end.
      const isRaw = heading === undefined && !isText && record.expected.is === 'stored' && at % 50 === 0;
      const line = isRaw ? withRawBreaks(record.text) : record.text;
      text += at === records - 1 ? line : `${line}\n`;
      if (text.length < 65_536) continue;
      yield text;
      text = '';
    }
    yield text;
  };
  for (const [file, end] of ends.entries()) {
    oracle.startFile();
    const isPacked = file === 1;
    const to = createWriteStream(`${path}-${file}.${extension}${isPacked ? '.gz' : ''}`);
    const from = Readable.from(some(end));
    await (isPacked ? pipeline(from, createGzip({ level: 1 }), to) : pipeline(from, to));
  }
  oracle.end();
  const persons = oracle.persons();
  const groups = oracle.groups();
  const figures = { ...expectedFigures(oracle, persons), stored_sum: sum.text() };
  return { expected: groups.size === 0 ? figures : { ...figures, ...groupFigures(groups) }, persons, groups };
}

/** With its line breaks and tabs as they are: no JSON, but what some sources write. */
function withRawBreaks(line: string): string {
  return line.replaceAll(/(?<!\\)\\([nt])/g, (_, of) => (of === 'n' ? '\n' : '\t'));
}

type Persons = readonly OraclePerson[];

interface Made {
  readonly expected: Figures;
  readonly persons: Persons;
  /** Empty: those of this form are not compared. */
  readonly groups: ReadonlyMap<string, string>;
}

function expectedFigures(oracle: Oracle, persons: Persons): Figures & Record<'records' | 'skipped', number> {
  const { records: read, stored, duplicates, skipped, rejected } = oracle.totals;
  return {
    // 3: some records were rejected; 0: done and exact.
    exit: rejected > 0 ? 3 : 0,
    records: read,
    duplicates,
    skipped,
    rejected,
    stored,
    ...partition(persons),
  };
}

/** The first persons that only one side has. */
function showDifference(expected: Persons, got: Persons): void {
  const [wanted, there] = [expected, got].map((persons) => new Set(persons.map(personText)));
  const missing = [...(wanted ?? [])].filter((text) => there?.has(text) === false).slice(0, 5);
  const surplus = [...(there ?? [])].filter((text) => wanted?.has(text) === false).slice(0, 5);
  if (missing.length + surplus.length > 0) console.log({ missing, surplus });
}

function partition(persons: Persons): Figures {
  const sum = createSum();
  for (const person of persons) sum.add(personText(person));
  return {
    persons: persons.length,
    ids: persons.reduce((all, { ids }) => all + ids.length, 0),
    persons_sum: sum.text(),
  };
}

/** `groups`: the latest values, by key. */
function groupFigures(groups: ReadonlyMap<string, string>): Figures {
  const sum = createSum();
  for (const [key, said] of groups) sum.add([key, said].join('\u0001'));
  return { groups: groups.size, groups_sum: sum.text() };
}

interface TextSum {
  add(text: string): void;
  text(): string;
}

/** The same for the same texts, in whatever order they come. */
function createSum(): TextSum {
  let sum = 0n;
  return {
    add: (text) => {
      sum = BigInt.asUintN(64, sum + hash('md5', text, 'buffer').readBigUInt64LE(0));
    },
    text: () => String(sum),
  };
}

async function storedFigures(store: Session, project: number): Promise<Figures> {
  const quoted = probePattern.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  const text = `concat(event, '\\x01', distinct_id, '\\x01', toString(toUnixTimestamp64Milli(timestamp)), '\\x01', extract(properties, '${quoted}'))`;
  const sql = `SELECT count() AS stored, toString(sum(reinterpretAsUInt64(substring(MD5(${text}), 1, 8)))) AS stored_sum
FROM millrace.events FINAL WHERE project_id = ${project} AND match(properties, '"probe":')`;
  const answer = await store.queryAsync(sql, { format: 'JSONEachRow' });
  const { stored, stored_sum: sum } = JSON.parse(answer.text()) as Record<string, string>;
  return { stored: Number(stored), stored_sum: String(sum) };
}

async function createProject(url: string, name: string): Promise<{ readonly id: number; readonly api_token: string }> {
  const answer = await fetch(`${url}/api/projects/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${provedKeys.personal}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: name.slice(0, 100) }),
  });
  if (answer.status !== 201) throw new Error(`expected a project, got ${answer.status}: ${await answer.text()}`);
  // As the API documents it.
  return (await answer.json()) as { id: number; api_token: string };
}

interface Import {
  readonly format: string;
  readonly files: string;
  readonly url: string;
  readonly key: string;
  readonly threads: string;
  readonly dir: string;
}

async function runImport({ format, files, url, key, threads, dir }: Import): Promise<Figures> {
  const { format: read, formatOptions } = formOf(format);
  const patient = ['--preflight-ms', '60000'];
  const args = [
    program,
    'import',
    read,
    files,
    ...patient,
    '--to',
    url,
    '--project-key',
    key,
    '--api-key',
    provedKeys.personal,
  ];
  const more = ['--threads', threads, '--rejected-max', '50%', '--state-dir', join(dir, `state-${threads}`), '--json'];
  for (const [option, value] of Object.entries(formatOptions)) more.push('--format-option', `${option}=${value}`);
  const child = spawn(process.execPath, [...args, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  let rest = '';
  let last = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    last = lines.findLast((line) => line.includes('"type":"result"')) ?? last;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const { totals = {} } = JSON.parse(last === '' ? '{}' : last) as { totals?: Record<string, unknown> };
  const skipped = Object.values((totals['skipped'] ?? {}) as Record<string, number>).reduce(
    (all, each) => all + each,
    0,
  );
  const counts = ['records', 'duplicates', 'rejected'].map((name) => [name, Number(totals[name])] as const);
  return { exit: code ?? -1, ...Object.fromEntries(counts), skipped };
}
