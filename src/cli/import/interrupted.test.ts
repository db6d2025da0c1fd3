import type { ChildProcess } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { hasProc, pidsNaming } from '../../../test/support/processes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import type { Finished, Running } from '../../../test/support/command.ts';
import {
  count,
  mixpanelLines,
  newImport,
  numbersOf,
  resultOf,
  storedNumbers,
  upTo,
} from '../../../test/support/import-command.ts';

describe.concurrent('an interrupted import of the command line', () => {
  it.each([1, 4])(
    'killed with kill -9 at request %i, the same command resumes and the set is exact',
    async (at) => {
      let child: ChildProcess | undefined;
      await using endpoint = await startEndpoint((_batch, attempt) => {
        if (attempt === at) child?.kill('SIGKILL');
        return 'keep';
      });
      await using made = await newImport();
      const killed = await made.spawn(endpoint.url, [], { onStart: (started) => (child = started) });
      expect(killed.code).toBe(null);
      const before = endpoint.kept.length;
      expect(before).toBeLessThan(count);
      const again = await made.start(endpoint.url);
      expect([again.code, again.stderr]).toEqual([
        exitCodes.unverified.code,
        expect.stringContaining('resumes in load'),
      ]);
      expect(resultOf(again).totals).toMatchObject({ records: count, loaded: count, rejected: 0 });
      expect(storedNumbers(endpoint.kept)).toEqual(upTo(count));
    },
    60_000,
  );

  it('Ctrl-C pauses with its exit code, and the same command resumes without sending acknowledged batches again', async () => {
    let command: Running | undefined;
    await using endpoint = await startEndpoint((_batch, attempt) => {
      if (attempt === 3) command?.interrupt();
      return 'keep';
    });
    await using made = await newImport();
    const paused = await made.start(endpoint.url, ['--speed', '1500'], { onStart: (started) => (command = started) });
    expect([paused.code, paused.stderr]).toEqual([exitCodes.paused.code, expect.stringContaining('paused in load')]);
    expect(resultOf(paused)).toMatchObject({ state: 'paused', stage: 'load' });
    const sent = endpoint.kept.length;
    expect(sent).toBeLessThan(count);
    const again = await made.start(endpoint.url);
    expect(again.code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(count));
    // At most the frames that were on their way.
    expect(endpoint.kept.length - count).toBeLessThanOrEqual(4000);
  });

  it('--check of an import that paused while it was loading is refused with the command that continues it', async () => {
    let command: Running | undefined;
    await using endpoint = await startEndpoint((_batch, attempt) => {
      if (attempt === 2) command?.interrupt();
      return 'keep';
    });
    await using made = await newImport();
    const paused = await made.start(endpoint.url, ['--speed', '1500'], { onStart: (started) => (command = started) });
    expect(paused.code).toBe(exitCodes.paused.code);
    const sent = endpoint.kept.length;
    const check = await made.start(endpoint.url, ['--check']);
    expect(check.code).toBe(exitCodes.failed.code);
    expect(check.stderr).toMatch(
      /is already loading \(stage load, [\d,]+ events loaded\).* continue it with: .*millrace import mixpanel .*--speed 1500/,
    );
    expect(check.stderr).not.toMatch(/resumes in|continue it with: [^;]*--check/);
    expect(endpoint.kept).toHaveLength(sent);
  });

  it.skipIf(!hasProc)('Ctrl-C leaves no process of the import running', async ({ expect }) => {
    let child: ChildProcess | undefined;
    await using made = await newImport();
    await using endpoint = await startEndpoint((_batch, attempt) => {
      if (attempt === 1) child?.kill('SIGINT');
      return { status: 503, headers: { 'retry-after': '1' } };
    });
    const paused = await made.spawn(endpoint.url, [], { onStart: (started) => (child = started) });
    expect(paused.code).toBe(exitCodes.paused.code);
    await expect.poll(() => pidsNaming(made.dir)).toEqual([]);
  });

  it.concurrent('of two concurrent commands the second reports that the first is running', async () => {
    let second: Promise<Finished> | undefined;
    let isOver = false;
    const records = 2000;
    await using made = await newImport(mixpanelLines(records));
    await using endpoint = await startEndpoint((_batch, attempt) => {
      if (attempt === 1) second = made.spawn(endpoint.url).finally(() => (isOver = true));
      // The first one stays at work for as long as the second one looks.
      return isOver ? 'keep' : { status: 503, headers: { 'retry-after': '1' } };
    });
    const first = await made.start(endpoint.url);
    expect(first.code).toBe(exitCodes.unverified.code);
    const other = await second;
    expect([other?.code, other?.stderr]).toEqual([
      1,
      expect.stringMatching(
        /another process is working on this import, run [0-9a-f-]{36}: "millrace import watch --run/,
      ),
    ]);
    expect(numbersOf(endpoint.kept).toSorted((a, b) => a - b)).toEqual(upTo(records));
  });
});
