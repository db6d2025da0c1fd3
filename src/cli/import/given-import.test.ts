import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Running } from '../../../test/support/command.ts';
import { commandTree } from '../../../test/support/command-tree.ts';
import { mixpanelLines, newImport, resultOf } from '../../../test/support/import-command.ts';
import { exitCodes } from '../exit-codes.ts';

const secret = 's3cret-of-the-plugin';
const personalKey = 'phx_of-a-person';

/** All options of an import, except those that exclude others of them or need another source. */
async function everyOption(dir: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(dir, name), text);
    return join(dir, name);
  };
  const plugin = join(dir, 'a plugin');
  await mkdir(plugin);
  const config = [
    { key: 'label', name: 'Label', type: 'string' },
    { key: 'token', name: 'Token', type: 'string', secret: true },
  ];
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify({ name: 'Labelled', config }));
  const code = 'exports.processEvent = (event, { config }) => { event.properties.label = config.label; return event }';
  await writeFile(join(plugin, 'index.js'), code);
  const table = await file('table.csv', 'n,title\n1,one\n2,two\n');
  return {
    '--choose': [await file('choice.json', '{"user_agent": true}')],
    '--from-date': ['2024-01-01'],
    '--to-date': ['2024-02-01T00:00:00Z'],
    '--limit': ['2000'],
    '--only-event': ['Event *'],
    '--except-event': ['Event 6', "It's gone"],
    '--sample': ['90%'],
    '--only-property': ['n', 'label', 'title', 'renamed'],
    '--except-property': ['old'],
    '--rename-property': ['other=renamed'],
    '--identity': ['merge'],
    '--user-agent': [],
    '--join': [table],
    '--on': ['n'],
    '--lookup-table': [`n=${table}`],
    '--format-option': ['time_zone=Europe/Berlin'],
    '--names': [await file('names.json', '{}')],
    '--transform': [plugin],
    '--transform-setting': ['label=two words', `token=${secret}`],
    '--speed': ['400'],
    '--rejected-max': ['1%'],
    '--threads': ['2'],
    '--no-preflight': [],
    '--preflight-ms': ['60000'],
    '--again': [],
    '--report': [join(dir, 'the report.html')],
    '--rejected': [join(dir, 'rejected.ndjson')],
    '--no-progress': [],
    '--api-key': [personalKey],
  };
}

/** Given by the test's own command, or excluded by one that is. */
const others = ['--to', '--project-key', '--state-dir', '--json', '--help', '--trial', '--check'];
/** They name another source, and its settings. */
const ofSources = ['--source', '--setting', '--profile'];

describe('the command printed by an interrupted import', () => {
  it('contains every given option, hides secrets, and resumes the run with the same result', async () => {
    let command: Running | undefined;
    await using endpoint = await startEndpoint((_batch, attempt) => {
      if (attempt === 1) command?.interrupt();
      return 'keep';
    });
    await using made = await newImport(mixpanelLines(3000).toSpliced(100, 0, 'not json'));
    const options = await everyOption(made.dir);
    const rules = [...((await commandTree()).get('import run')?.options ?? [])].filter(
      ({ argChoices, long }) => argChoices !== undefined && long !== '--identity',
    );
    const chosen = Object.fromEntries(rules.map(({ long, argChoices }) => [long, [argChoices?.at(-1) ?? '']]));
    const all: Readonly<Record<string, readonly string[]>> = { ...options, ...chosen };
    const known = (await commandTree()).get('import run')?.options.filter(({ hidden }) => !hidden) ?? [];
    expect(known.map(({ long }) => long).toSorted()).toEqual(
      [...Object.keys(all), ...others.filter((each) => each !== '--help'), ...ofSources].toSorted(),
    );
    const args = Object.entries(all).flatMap(([flag, values]) =>
      values.length === 0 ? [flag] : values.flatMap((value) => [flag, value]),
    );
    const paused = await made.start(endpoint.url, args, { onStart: (started) => (command = started) });
    command = undefined;
    expect([paused.code, paused.stderr]).toEqual([exitCodes.paused.code, expect.stringContaining('paused in')]);
    const printed = /resume it with: (millrace .*)$/m.exec(paused.stderr)?.[1] ?? '';
    for (const text of [secret, personalKey, 'phc_test']) expect(printed).not.toContain(text);
    for (const flag of Object.keys(all).filter((each) => each !== '--again')) expect(printed).toContain(` ${flag}`);
    const words = [...printed.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(([, quoted, plain = '']) =>
      (quoted?.replaceAll(String.raw`'\''`, "'") ?? plain)
        .replace('token=…', `token=${secret}`)
        .replace('phc_…', 'phc_test')
        .replace('phx_…', personalKey),
    );
    const done = await runCommand(words.slice(1));
    expect(done.stderr).toContain('resumes in');
    expect(resultOf(done)).toMatchObject({ id: resultOf(paused).id, state: 'completed' });
    expect(done.code).toBe(exitCodes.rejected.code);
    expect(await readFile(join(made.dir, 'the report.html'), 'utf8')).toContain('<html');
    expect(await readFile(join(made.dir, 'rejected.ndjson'), 'utf8')).toContain('not json');
  });
});
