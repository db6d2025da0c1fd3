import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Finished, type Running } from '../../../test/support/command.ts';
import {
  mixpanelLines,
  newImport,
  numbersOf,
  resultOf,
  upTo,
  type TestImport,
} from '../../../test/support/import-command.ts';
import { exitCodes } from '../exit-codes.ts';

type Endpoint = Awaited<ReturnType<typeof startEndpoint>>;

const count = 40;
const bad = ['not json', '{"event":"x"}'];

async function scene(
  work: (made: TestImport, endpoint: Endpoint) => Promise<void>,
  lines: readonly string[] = mixpanelLines(count),
): Promise<void> {
  await using endpoint = await startEndpoint(() => 'keep');
  await using made = await newImport(lines);
  await work(made, endpoint);
}

/** Returns the first group in a message, which a user would copy. */
function copied({ stderr, stdout }: Finished, pattern: RegExp): string {
  const found = pattern.exec(stderr)?.[1] ?? pattern.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`expected ${pattern.source} in: ${stderr}\n${stdout}`);
  return found;
}

/** Runs a printed command with the key that it omits. */
function follow(command: string): Promise<Finished> {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  return runCommand(words.slice(1).map((word) => word.replace('phc_…', 'phc_test')));
}

const everything = ({ kept }: Endpoint): void => {
  expect(numbersOf(kept).toSorted((a, b) => a - b)).toEqual(upTo(count));
};

describe.concurrent('advice of an import, followed literally, works', () => {
  it('too many rejected: the suggested share is enough', () =>
    scene(
      async (made, endpoint) => {
        const refused = await made.start(endpoint.url);
        expect([refused.code, refused.stderr]).toEqual([
          exitCodes.failed.code,
          expect.not.stringContaining('rejected_max'),
        ]);
        const share = copied(refused, /run the same command with --rejected-max (\S+)/);
        const done = await made.start(endpoint.url, ['--rejected-max', share]);
        expect(done.code).toBe(exitCodes.rejected.code);
        everything(endpoint);
      },
      [...mixpanelLines(count), ...bad],
    ));

  it('no events: after the source is corrected, the command with --again', () =>
    scene(
      async (made, endpoint) => {
        // The preflight finds it before there is a run.
        expect((await made.start(endpoint.url)).stdout).toContain('source_empty');
        const refused = await made.start(endpoint.url, ['--no-preflight']);
        const flag = copied(refused, /run the command with (--again)/);
        expect([refused.code, refused.stderr]).toEqual([exitCodes.failed.code, expect.not.stringContaining('resumes')]);
        await writeFile(made.file, mixpanelLines(count).join('\n'));
        expect((await made.start(endpoint.url, [flag])).code).toBe(exitCodes.unverified.code);
        everything(endpoint);
      },
      ['', ''],
    ));

  it('the wrong format: the suggested one reads the records', () =>
    scene(async (made, endpoint) => {
      const state = ['--state-dir', made.state, '--to', endpoint.url, '--project-key', 'phc_test'];
      const refused = await runCommand(['import', 'amplitude', made.file, ...state]);
      const format = copied(refused, /Change the format after "millrace import": (\w+) reads them/);
      expect((await runCommand(['import', format, made.file, ...state])).code).toBe(exitCodes.unverified.code);
      everything(endpoint);
    }));

  it('a run is done or cancelled: --again starts a new one', () =>
    scene(async (made, endpoint) => {
      const first = resultOf(await made.start(endpoint.url));
      const again = copied(await made.start(endpoint.url), /is already done; (--again) starts a new one/);
      expect(resultOf(await made.start(endpoint.url, [again])).id).not.toBe(first.id);
    }));

  it('a pause is not an error, and the command that it prints resumes', () =>
    scene(async (made, endpoint) => {
      let running: Running | undefined;
      const paused = made.start(endpoint.url, ['--speed', '500'], { onStart: (command) => (running = command) });
      while (endpoint.batches.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      running?.interrupt();
      const { code, stderr } = await paused;
      expect([code, stderr]).toEqual([exitCodes.paused.code, expect.not.stringContaining('error:')]);
      const shown = await runCommand(['import', 'resume', '--state-dir', made.state]);
      const done = await follow(copied(shown, /\n {2}(millrace import .*)/));
      expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('resumes in load')]);
    }, mixpanelLines(2000)));

  it('a trial: promote prints the command of its full form, without its limit', () =>
    scene(async (made, endpoint) => {
      await made.start(endpoint.url, ['--limit', '5']);
      const shown = await runCommand(['import', 'promote', '--state-dir', made.state]);
      const command = copied(shown, /\n {2}(millrace import .*)/);
      expect(command).not.toContain('--limit');
      expect((await follow(command)).code).toBe(exitCodes.unverified.code);
      expect(new Set(numbersOf(endpoint.kept))).toEqual(new Set(upTo(count)));
    }));

  it('retry-rejected: the suggested command shows the one that resumes', () =>
    scene(async (made, endpoint) => {
      await made.start(endpoint.url);
      const state = ['--state-dir', made.state];
      const retried = await runCommand(['import', 'retry-rejected', ...state]);
      const way = copied(retried, /"(millrace import resume \S+)" shows/);
      const shown = await follow(`${way} --state-dir ${made.state}`);
      expect((await follow(copied(shown, /\n {2}(millrace import .*)/))).code).toBe(exitCodes.unverified.code);
    }));

  it('converted events missing from the state directory: --again starts from the source', () =>
    scene(async (made, endpoint) => {
      await made.start(endpoint.url, ['--check']);
      const [name = ''] = await readdir(made.state);
      await rm(join(made.state, name, 'store'), { recursive: true });
      const failed = await made.start(endpoint.url);
      expect([failed.code, failed.stderr]).toEqual([
        exitCodes.failed.code,
        expect.not.stringContaining('same command'),
      ]);
      const again = copied(failed, /the store was restored; run the command with (--again)/);
      expect((await made.start(endpoint.url, [again])).code).toBe(exitCodes.unverified.code);
      everything(endpoint);
    }));

  it('an impossible action is refused with existing subcommands', () =>
    scene(async (made, endpoint) => {
      await made.start(endpoint.url);
      const refused = await runCommand(['import', 'pause', '--state-dir', made.state]);
      const possible = copied(refused, /possible: (.*)/).split(', ');
      expect(possible).toEqual(expect.arrayContaining(['retry-rejected', 'verify --again']));
      const tried = await runCommand(['import', ...(possible[0] ?? '').split(' '), '--state-dir', made.state]);
      expect(tried.code).toBe(exitCodes.ok.code);
    }));
});

describe('messages of imports', () => {
  it('leave the names of commands to the caller', async () => {
    const folder = new URL('../../imports/', import.meta.url);
    const names = await readdir(folder, { recursive: true });
    const own = names.filter(
      (name) => name.endsWith('.ts') && !/\.test\.ts$|conformance|fixture|advice-words/.test(name),
    );
    const said: string[] = [];
    for (const name of own) {
      const text = await readFile(new URL(name, folder), 'utf8');
      const found =
        /['"`;][^'"`\n]*(resume the run|resume this run|start a new (run|one)|the same command|--again)/.exec(text);
      if (found !== null) said.push(`${name}: ${found[0]}`);
    }
    expect(own.length).toBeGreaterThan(100);
    expect(said).toEqual([]);
  });
});

describe('what an import shows', () => {
  const old = JSON.stringify({
    event: 'Old',
    properties: { time: 100_000, distinct_id: 'u', $insert_id: 'old-1', n: count },
  });

  it('every warning of the check, also when it continues to load', () =>
    scene(
      async (made, endpoint) => {
        const check = await made.start(endpoint.url, ['--check']);
        const { warnings } = (resultOf(check) as unknown as { check: { warnings: string[] } }).check;
        expect(warnings.length).toBeGreaterThan(0);
        const done = await made.start(endpoint.url);
        expect(resultOf(done)).toMatchObject({ state: 'completed', warnings });
      },
      [...mixpanelLines(count), old],
    ));

  it('import report is readable: file, target, verification, warnings, and rejections with a sample', () =>
    scene(
      async (made, endpoint) => {
        await made.start(endpoint.url, ['--rejected-max', '50%']);
        const { stdout } = await runCommand(['import', 'report', '--state-dir', made.state]);
        expect(stdout).toContain(`export.ndjson.gz (mixpanel) into ${endpoint.url}`);
        expect(stdout).toMatch(/compared: .*personal API key|compared: /);
        expect(stdout).toMatch(/warning: .*2000/);
        expect(stdout).toMatch(/rejected 1: .*\n.*line \d+: not json/);
        const whole = await runCommand(['import', 'report', '--json', '--state-dir', made.state]);
        expect(JSON.parse(whole.stdout)).toMatchObject({ verdict: 'unverified' });
        const page = await runCommand(['import', 'report', '--html', '--state-dir', made.state]);
        expect(page.stdout).toContain('<title>Import of export.ndjson.gz (mixpanel) into');
      },
      [...mixpanelLines(count), old, ...bad],
    ));
});
