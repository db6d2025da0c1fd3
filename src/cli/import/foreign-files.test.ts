import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { makeZip } from '../../../test/support/archives.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import {
  mixpanelLines,
  newImport,
  resultOf,
  storedNumbers,
  upTo,
  type TestImport,
} from '../../../test/support/import-command.ts';

const lines = mixpanelLines(20);
const foreign: Readonly<Record<string, string>> = {
  'README.md': '# Export of 2024, all events\n\nMade by hand, with care\nand more\n',
  'notes.txt': 'nothing to see here\n',
  'manifest.json': '{"version": 1, "files": [{"name": "a.jsonl", "records": 10}]}\n',
  'md5sums.txt': 'd41d8cd98f00b204e9800998ecf8427e  a.jsonl\n',
  _SUCCESS: '',
  'logo.png': '\u0089PNG\r\n\u001a\n\0\0\0\rIHDR',
};
const data: Readonly<Record<string, string>> = {
  'a.jsonl': `${lines.slice(0, 10).join('\n')}\n`,
  'z.jsonl': `${lines.slice(10).join('\n')}\n`,
};

async function written(dir: string, files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(dir, 'data');
  await mkdir(path);
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text, 'latin1');
  return path;
}

function imported(made: TestImport, path: string, url: string, more: readonly string[] = []): Promise<Finished> {
  const args = [
    'import',
    'mixpanel',
    path,
    '--to',
    url,
    '--project-key',
    'phc_test',
    '--state-dir',
    made.state,
    '--json',
  ];
  return runCommand([...args, ...more]);
}

function leftOut(finished: Finished): string[] {
  const { check } = resultOf(finished) as unknown as { check: { files_left_out?: { file: string; reason: string }[] } };
  return (check.files_left_out ?? [])
    .map(({ file, reason }) => `${file.replace(/^.*(\/|: )/, '')} – ${reason}`)
    .toSorted();
}

const expected = [
  'README.md – no records of this format',
  '_SUCCESS – it is empty',
  'logo.png – no records of this format',
  'manifest.json – no records of this format',
  'md5sums.txt – no records of this format',
  'notes.txt – no records of this format',
];

describe('files without records among those that are imported', () => {
  it('in a directory are skipped by their content, listed by the check, and stop nothing', async () => {
    await using made = await newImport([]);
    await using endpoint = await startEndpoint(() => 'keep');
    const path = await written(made.dir, { ...foreign, ...data });
    const checked = await imported(made, path, endpoint.url, ['--check']);
    expect([checked.code, leftOut(checked)]).toEqual([0, expected]);
    expect((await imported(made, path, endpoint.url)).code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(20));
  });

  it('in an archive are skipped as well', async () => {
    await using made = await newImport([]);
    await using endpoint = await startEndpoint(() => 'keep');
    const zip = join(made.dir, 'export.zip');
    const members = Object.entries({ ...foreign, ...data });
    await writeFile(zip, makeZip(members.map(([path, text]) => ({ path, content: Buffer.from(text, 'latin1') }))));
    const checked = await imported(made, zip, endpoint.url, ['--check']);
    expect([checked.code, leftOut(checked)]).toEqual([0, expected]);
    expect((await imported(made, zip, endpoint.url)).code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(20));
  });

  it('a broken record is not skipped, nor is a file named on its own or with another form of data', async () => {
    await using made = await newImport([]);
    await using endpoint = await startEndpoint(() => 'keep');
    const broken = '{"event":"E","properties":{"time":"no time","distinct_id":"d"}}\n';
    const path = await written(made.dir, { ...data, 'b.jsonl': broken, 'c.jsonl': '{"event":"E","prop' });
    const checked = await imported(made, path, endpoint.url, ['--check']);
    expect(leftOut(checked)).toEqual([]);
    expect(resultOf(checked).totals).toMatchObject({ records: 22, rejected: 2 });
    for (const name of await readdir(path)) await rm(join(path, name));
    await writeFile(join(path, 'manifest.json'), foreign['manifest.json'] ?? '');
    const alone = await imported(made, path, endpoint.url, ['--check', '--no-preflight']);
    expect([alone.code, resultOf(alone).totals]).toEqual([1, expect.objectContaining({ records: 1, rejected: 1 })]);
    await writeFile(join(path, 'a.jsonl'), data['a.jsonl'] ?? '');
    await writeFile(join(path, 'b.7z'), Buffer.from('377abcaf271c0004', 'hex'));
    const other = await imported(made, path, endpoint.url, ['--check', '--no-preflight']);
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('got a 7-Zip archive: convert it first')]);
  });

  it('a file of invalid records is rejected record by record; objects of another kind count as skipped', async () => {
    await using made = await newImport([]);
    await using endpoint = await startEndpoint(() => 'keep');
    const path = await written(made.dir, {
      // As an hour of Amplitude comes: all its columns, and no id in the only record.
      'hour-1.json': `${amplitudeHour({ user_id: null, device_id: null })}\n`,
      'hour-0.json': `${amplitudeHour({ user_id: 'u1' })}\n`,
      'manifest.json': foreign['manifest.json'] ?? '',
    });
    const args = [
      'import',
      'amplitude',
      path,
      '--to',
      endpoint.url,
      '--project-key',
      'phc_test',
      '--state-dir',
      made.state,
    ];
    const checked = await runCommand([...args, '--json', '--check']);
    const { totals } = resultOf(checked);
    expect(totals).toMatchObject({ records: 3, rejected: 1 });
    expect(totals.skipped).toEqual({ 'in a file without records of this format': 1 });
  });
});

function amplitudeHour(ids: Readonly<Record<string, unknown>>): string {
  const columns = ['adid', 'amplitude_id', 'app', 'city', 'client_event_time', 'country', 'data', 'device_type', 'dma'];
  const more = [
    'event_id',
    'groups',
    'idfa',
    'ip_address',
    'language',
    'library',
    'os_name',
    'paying',
    'platform',
    'region',
  ];
  const empty = Object.fromEntries(
    [...columns, ...more, 'server_upload_time', 'start_version'].map((name) => [name, null]),
  );
  return JSON.stringify({
    ...empty,
    $insert_id: 'i',
    event_type: 'Seen',
    event_time: '2024-05-01 10:00:00.000000',
    event_properties: {},
    user_properties: {},
    uuid: '0e6d5c1a-7f3b-4c55-9a52-3c9b7c0a1f11',
    ...ids,
  });
}
