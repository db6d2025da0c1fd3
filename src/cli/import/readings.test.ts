import { describe, expect, it } from 'vitest';
import type { CheckResult } from '../../imports/run/results.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { newImport, resultOf } from '../../../test/support/import-command.ts';

const record = (id: number, more = ''): string =>
  `{"event":"a","properties":{"time":1646784000,"distinct_id":"u","$insert_id":"i${id}"${more}}}`;

const checkedOf = (finished: Finished) => resultOf(finished) as unknown as { readonly check: CheckResult };

describe('how the records of an import are read', () => {
  it('a record over several lines counts once, and messages name lines of the file', async () => {
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

  it('what a file was taken for is said beforehand, by the check and in the report', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport([record(1) + record(2)]);
    const sentence = '1 file or answer was read as JSON, one record after the other, whatever the lines.';
    const finished = await made.start(endpoint.url);
    expect(finished.stdout).toContain('is read as JSON, one record after the other, whatever the lines');
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
