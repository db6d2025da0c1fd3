import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../imports/run/results.ts';
import type { ReportResult } from '../../imports/stages/report/report.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { newImport, resultOf } from '../../../test/support/import-command.ts';

const record = (id: number, more = ''): string =>
  `{"event":"a","properties":{"time":1646784000,"distinct_id":"u","$insert_id":"i${id}"${more}}}`;

const checkedOf = (finished: Finished) => resultOf(finished) as unknown as { readonly check: CheckResult };

describe('how the records of an import are read', () => {
  it('a record over several lines counts once, and messages name its lines in the file', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    const lines = [record(1, ',"note":"first\nsecond"'), record(2), record(3, ',"note":"x\r\n\r\ny"'), '{"event":'];
    await using made = await newImport(lines.join('\n').split('\n'));
    const { check } = checkedOf(await made.start(endpoint.url, ['--check']));
    expect(check.totals).toMatchObject({ records: 4, converted: 3, rejected: 1 });
    expect(check.totals.skipped).toEqual({});
    expect(check.errors).toMatchObject([{ count: 1, example: { line: 7 } }]);
    const loaded = resultOf(await made.start(endpoint.url, ['--rejected-max', '100%']));
    expect(loaded.totals).toMatchObject({ records: 4, loaded: 3, rejected: 1 });
    const notes = endpoint.kept.map(({ properties }) => (properties as { note?: string }).note);
    expect(new Set(notes)).toEqual(new Set(['first\nsecond', undefined, 'x\r\n\r\ny']));
  });

  it('a blank line is not a record: it is not counted, and lines keep their numbers', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(['', record(1), '  \t', record(2), '', '', '{"event":']);
    const file = join(made.dir, 'report.json');
    const args = ['--rejected-max', '100%', '--report', file];
    const done = resultOf(await made.start(endpoint.url, args)) as unknown as { readonly totals: object };
    expect(done.totals).toMatchObject({ records: 3, skipped: {}, rejected: 1, events: 2, loaded: 2 });
    const report = JSON.parse(await readFile(file, 'utf8')) as ReportResult;
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report.totals.records).toMatchObject({ read: 3, converted: 2, skipped: 0, rejected: 1 });
    expect(report.parts.list).toMatchObject([{ records: 3 }]);
    expect(report.errors).toMatchObject([{ example: { line: 7 } }]);
  });

  it('the assumed reading of a file is reported beforehand, by the check and in the report', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport([record(1) + record(2)]);
    const sentence = '1 file or response was read as JSON, one record after the other, regardless of lines.';
    const finished = await made.start(endpoint.url);
    expect(finished.stdout).toContain('is read as JSON, one record after the other, regardless of lines');
    expect(resultOf(finished)).toMatchObject({
      notes: expect.arrayContaining([
        expect.objectContaining({ of: 'read_as', kind: 'reading', count: 1, detail: sentence }),
      ]) as object[],
      warnings: expect.arrayContaining([sentence]) as string[],
    });
    const report = await runCommand(['import', 'report', '--json', '--state-dir', made.state]);
    expect(report.stdout).toContain(sentence);
  });
});
