/**
 * Real: the whole program as a process, its process of imports, the pipeline, chDB, files, HTTP. Doubled: nothing.
 * Observed: the text of properties that the API reads back, against the text that the records had.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, it } from 'vitest';
import { carriedIn, carriedText, createRecords, listCarriers, withValue } from '../support/digit-carriers.ts';
import { createPick, deepValue, exactValue } from '../support/exact-values.ts';
import { createFilesConfig, expectExactRun, startImport } from '../support/import-runs.ts';
import { personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

/** In all; each format and each kind of file gets its share. */
const records = 10_000;

interface ExportFile {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly content: string | Uint8Array;
}

/** Numbered values; `expected` holds how each is to be stored. */
interface Values {
  next(): { readonly n: number; readonly text: string };
  readonly expected: Map<number, string>;
}

function createValues(): Values {
  const pick = createPick(20_261_122);
  const expected = new Map<number, string>();
  return {
    expected,
    next() {
      const n = expected.size;
      const value = n % 20 === 0 ? deepValue(2 * pick(12), exactValue(pick)) : exactValue(pick);
      const text = `${n},${value}`;
      expected.set(n, carriedText(text));
      return { n, text };
    },
  };
}

/** A file of each format, and rows with a column of JSON as CSV and as Parquet. */
function makeFiles(values: Values): ExportFile[] {
  const carriers = listCarriers();
  const share = Math.ceil(records / (carriers.length + 2));
  const files = carriers.map(({ format, options, templates }): ExportFile => {
    const makers = templates.map((template) => createRecords(format, template));
    const lines = Array.from({ length: share }, (_, count) => {
      const { n, text } = values.next();
      return withValue(makers[count % makers.length]?.(n) ?? '', text);
    });
    const settings = { format: format.slug, format_options: JSON.stringify(options) };
    return { name: `${format.slug}.ndjson`, settings, content: `${lines.join('\n')}\n` };
  });
  const rowsOf = (): { id: string; text: string }[] =>
    Array.from({ length: share }, () => {
      const { n, text } = values.next();
      return { id: `row-${n}`, text: withValue('{"carried":"@carried@"}', text) };
    });
  const settings = { format: 'mapping', format_options: JSON.stringify({ mapping: rowMapping }) };
  return [
    ...files,
    { name: 'rows.csv', settings, content: csvOf(rowsOf()) },
    { name: 'rows.parquet', settings, content: parquetOf(rowsOf()) },
  ];
}

const rowMapping = JSON.stringify({
  event: { constant: 'row read' },
  distinct_id: 'id',
  timestamp: { constant: '2024-05-01T00:00:00Z' },
  uuid: '{id}',
  properties: { text: { path: 'text', type: 'json' } },
});

type Rows = readonly { readonly id: string; readonly text: string }[];

function csvOf(rows: Rows): string {
  return `id,text\n${rows.map(({ id, text }) => `${id},"${text.replaceAll('"', '""')}"\n`).join('')}`;
}

function parquetOf(rows: Rows): Uint8Array {
  const column = (name: 'id' | 'text') => ({ name, data: rows.map((row) => row[name]), type: 'STRING' as const });
  return new Uint8Array(parquetWriteBuffer({ columnData: [column('id'), column('text')] }));
}

/** Answers are JSON for strict readers: half a pair, which values hold as an escape, becomes U+FFFD there. */
function answered(text: string): string {
  return text.replaceAll(/\\(\\|u(d[89a-f][0-9a-f]{2}))/g, (escape, _, half) =>
    half === undefined ? escape : '\ufffd',
  );
}

/** Every carried value that is stored, by its number. */
async function storedValues(server: TestServer): Promise<Map<number, Set<string>>> {
  const stored = new Map<number, Set<string>>();
  let path: string | undefined = '/api/projects/@current/events/?limit=1000';
  while (path !== undefined) {
    const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${personalKey}` } });
    const text = await answer.text();
    for (const carried of carriedIn(text)) {
      const n = Number(/^\["@carried@",(\d+)/.exec(carried)?.[1]);
      stored.set(n, (stored.get(n) ?? new Set()).add(carried));
    }
    const { next } = JSON.parse(text) as { next: string | null };
    path = next === null ? undefined : next.slice(new URL(next).origin.length);
  }
  return stored;
}

it('10,000 records with digits, depth and characters of every kind are stored unchanged, in every format', async () => {
  await using dataDir = await tempDataDir();
  const values = createValues();
  const files = makeFiles(values);
  expect(values.expected.size).toBeGreaterThanOrEqual(records);
  const server = await startServer(dataDir.path, { MILLRACE_API_RATE_LIMIT: 'off', MILLRACE_IMPORT_RUNS: '8' });
  const runs: string[] = [];
  for (const { name, settings, content } of files) {
    const path = join(dataDir.path, 'import-files', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    const config = await createFilesConfig(server, { paths: path, ...settings });
    runs.push(await startImport(server, config, { preflight: true }));
  }
  for (const run of runs) await expectExactRun(server, run);
  const stored = await storedValues(server);
  const different = [...values.expected].filter(([n, text]) => [...(stored.get(n) ?? [])].join() !== answered(text));
  expect(different.slice(0, 5)).toEqual([]);
  expect(stored.size).toBe(values.expected.size);
});
