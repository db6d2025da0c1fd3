import { join } from 'node:path';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import {
  linesOf,
  mixpanelLines,
  newImport,
  resultOf,
  storedNumbers,
  upTo,
  type TestImport,
} from '../../../test/support/import-command.ts';

const records = 400;

async function rewrite(file: string, lines: readonly string[]): Promise<void> {
  await writeFile(file, gzipSync(`${lines.join('\n')}\n`));
}

describe.concurrent('the same command again', () => {
  it('after a file has grown, imports all of it and stores each event once', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records).slice(0, 250));
    const before = await made.start(endpoint.url);
    expect(before.code).toBe(exitCodes.unverified.code);
    await rewrite(made.file, mixpanelLines(records));
    const again = await made.start(endpoint.url);
    expect([again.code, again.stderr]).toEqual([
      exitCodes.unverified.code,
      expect.stringMatching(/the source has changed since [0-9a-f-]{36} read it: .*export\.ndjson\.gz grew from/),
    ]);
    expect(resultOf(again)).toMatchObject({ totals: { records, loaded: records } });
    expect(resultOf(again).id).not.toBe(resultOf(before).id);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
    const third = await made.start(endpoint.url);
    expect([third.code, third.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('is already done')]);
  });

  it('after a file was only touched, is already done', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    expect((await made.start(endpoint.url)).code).toBe(exitCodes.unverified.code);
    await utimes(made.file, 1, 1);
    const again = await made.start(endpoint.url);
    expect([again.code, again.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('is already done')]);
  });

  it('after a check of a file that was overwritten since, loads its present content', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records).slice(0, 250));
    expect((await made.start(endpoint.url, ['--check'])).code).toBe(0);
    await rewrite(made.file, mixpanelLines(records));
    expect((await made.start(endpoint.url)).code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
  });
});

describe.concurrent('a file that changes after it was read', () => {
  it('before anything was sent, stops the import; the same command imports the present content', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    const broken = JSON.stringify({ event: 'E', properties: { time: 'no time', distinct_id: 'd' } });
    await rewrite(made.file, [...mixpanelLines(records).slice(0, 250), broken]);
    const rejected = await made.start(endpoint.url);
    expect([rejected.code, endpoint.kept]).toEqual([1, []]);
    await rewrite(made.file, mixpanelLines(records));
    const again = await made.start(endpoint.url);
    expect([again.code, again.stderr]).toEqual([
      exitCodes.unverified.code,
      expect.stringContaining('imports its present state'),
    ]);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
  });

  it('while it is loaded, is noted at the end of the import', async () => {
    let grown: Promise<void> | undefined;
    await using made = await newImport(mixpanelLines(records));
    await using endpoint = await startEndpoint(() => {
      grown ??= readFile(made.file).then((file) =>
        rewrite(made.file, [
          ...gunzipSync(file).toString().trim().split('\n'),
          ...mixpanelLines(records + 1).slice(-1),
        ]),
      );
      return 'keep';
    });
    const first = await made.start(endpoint.url, ['--speed', '500']);
    expect([first.code, first.stderr]).toEqual([
      exitCodes.unverified.code,
      expect.stringMatching(
        /the source has changed since it was read: .* grew from .*; the same command imports the changes/,
      ),
    ]);
  });
});

describe.concurrent('what an import of files refuses', () => {
  it('--follow, with advice', async () => {
    await using made = await newImport(mixpanelLines(1));
    const refused = await made.start('http://127.0.0.1:9', ['--follow']);
    expect([refused.code, refused.stderr]).toEqual([
      exitCodes.usage.code,
      expect.stringMatching(
        /--follow: an import reads existing records and ends\. Import completed files .* POST \/batch\//,
      ),
    ]);
    expect(await readdir(made.dir)).toEqual(['export.ndjson.gz']);
  });
});

describe.concurrent('a check, and then the import', () => {
  const check = (made: TestImport): Promise<Finished> =>
    runCommand(['import', 'check', 'mixpanel', made.file, '--state-dir', made.state, '--json']);
  const stagesOf = (made: Finished): readonly string[] => [...new Set(linesOf(made).map(({ stage }) => stage))];

  it('of the same records are one run: nothing is exported or checked twice, and each event is stored once', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    const checked = await check(made);
    expect([checked.code, endpoint.kept]).toEqual([0, []]);
    const done = await made.start(endpoint.url);
    expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('resumes in load')]);
    expect(stagesOf(done)).not.toEqual(expect.arrayContaining(['export']));
    expect(stagesOf(done)).not.toEqual(expect.arrayContaining(['check']));
    expect(resultOf(done).id).toBe(resultOf(checked).id);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
    expect(endpoint.kept).toHaveLength(records);
    expect((await made.start(endpoint.url)).stderr).toContain('is already done');
  });

  it('into two targets are separate runs', async () => {
    await using first = await startEndpoint(() => 'keep');
    await using second = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    await check(made);
    const ids = [resultOf(await made.start(first.url)).id, resultOf(await made.start(second.url)).id];
    expect(new Set(ids).size).toBe(2);
    expect([storedNumbers(first.kept), storedNumbers(second.kept)]).toEqual([upTo(records), upTo(records)]);
  });

  it('finds earlier imports of the same records into its target', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    const names = join(made.dir, 'names.json');
    await writeFile(names, JSON.stringify({ events: { 'Event 0': 'Renamed' } }));
    expect((await made.start(endpoint.url, ['--names', names])).code).toBe(exitCodes.unverified.code);
    const before = endpoint.kept.length;
    expect((await check(made)).code).toBe(0);
    const refused = await made.start(endpoint.url);
    expect([refused.code, refused.stderr, endpoint.kept.length]).toEqual([
      exitCodes.failed.code,
      expect.stringContaining('of the same records'),
      before,
    ]);
  });

  it('do not share a check with other options', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    const checked = await check(made);
    const done = await made.start(endpoint.url, ['--format-option', 'groups=n']);
    expect(resultOf(done).id).not.toBe(resultOf(checked).id);
  });
});
