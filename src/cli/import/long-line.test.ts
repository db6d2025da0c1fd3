import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/command.ts';
import { mixpanelLines, newImport, resultOf } from '../../../test/support/import-command.ts';

describe('a line of 30 MB among others', () => {
  it('is one rejected record with its line and the reason; the lines after it keep their numbers', async () => {
    await using made = await newImport([]);
    const [first = '', second = ''] = mixpanelLines(2);
    const file = join(made.dir, 'long.jsonl');
    const long = `{"event":"E","properties":{"x":"${'x'.repeat(30_000_000)}"}}`;
    await writeFile(file, `${first}\n${long}\n${second}\nno json\n`);
    const rejected = join(made.dir, 'rejected.ndjson');
    const args = ['import', 'check', 'mixpanel', file, '--state-dir', made.state, '--rejected', rejected, '--json'];
    const finished = await runCommand(args);
    expect(finished.code).not.toBe(0);
    expect(resultOf(finished).totals).toMatchObject({ records: 4, skipped: {}, rejected: 2, events: 2 });
    const lines = (await readFile(rejected, 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { line: 4, code: 'invalid_json', original: 'no json' },
      { line: 2, code: 'not_a_record', reason: expect.stringMatching(/at most 20971520 bytes, got a longer one/) },
    ]);
  });
});
