import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { mixpanelLines, newImport, resultOf, storedNumbers, upTo } from '../../../test/support/import-command.ts';

const records = 400;

async function rewrite(file: string, lines: readonly string[]): Promise<void> {
  await writeFile(file, gzipSync(`${lines.join('\n')}\n`));
}

describe.concurrent('the same command once more', { timeout: 60_000 }, () => {
  it('over a file that has grown is not done already: all of it is imported, and each event stored once', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records).slice(0, 250));
    const before = await made.start(endpoint.url);
    expect(before.code).toBe(exitCodes.unverified.code);
    await rewrite(made.file, mixpanelLines(records));
    const again = await made.start(endpoint.url);
    expect([again.code, again.stderr]).toEqual([
      exitCodes.unverified.code,
      expect.stringMatching(/the source is not what [0-9a-f-]{36} has read: .*export\.ndjson\.gz grew from/),
    ]);
    expect(resultOf(again)).toMatchObject({ totals: { records, loaded: records } });
    expect(resultOf(again).id).not.toBe(resultOf(before).id);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
    const third = await made.start(endpoint.url);
    expect([third.code, third.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('is done already')]);
  });

  it('over a file that was only touched is done already', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records));
    expect((await made.start(endpoint.url)).code).toBe(exitCodes.unverified.code);
    await utimes(made.file, 1, 1);
    const again = await made.start(endpoint.url);
    expect([again.code, again.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('is done already')]);
  });

  it('after a check, over a file that was overwritten since, loads what is there now', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(records).slice(0, 250));
    expect((await made.start(endpoint.url, ['--check'])).code).toBe(0);
    await rewrite(made.file, mixpanelLines(records));
    expect((await made.start(endpoint.url)).code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
  });
});

describe.concurrent('a file that changes after it was read', { timeout: 60_000 }, () => {
  it('before anything was sent, the import stops; the same command imports what is there then', async () => {
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
      expect.stringContaining('imports it as it is now'),
    ]);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(records));
  });

  it('while it is loaded, the import ends with a word about it', async () => {
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
      expect.stringMatching(/since it was read the source has changed: .* grew from .*; the same command imports that/),
    ]);
  });
});

describe.concurrent('what an import of files refuses', () => {
  it('--follow, with what to do instead', async () => {
    await using made = await newImport(mixpanelLines(1));
    const refused = await made.start('http://127.0.0.1:9', ['--follow']);
    expect([refused.code, refused.stderr]).toEqual([
      exitCodes.usage.code,
      expect.stringMatching(
        /--follow: an import reads what is there and ends\. Import what is finished .* POST \/batch\//,
      ),
    ]);
    expect(await readdir(made.dir)).toEqual(['export.ndjson.gz']);
  });
});
