import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answersOf,
  childCommand,
  expectOnlyAcked,
  startChild,
  survivors,
} from '../../../test/support/eventlog/child-log.ts';

// Real processes, files, failing syncs (strace), file-size limits (prlimit) and a full disk (tmpfs). Tests that the machine does
// not permit are skipped. Compares what the child reported with what another process reads.

const run = promisify(execFile);

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;

/** Runs the child with failing syncs, `which` as strace counts them. About the first twenty belong to opening the log. */
function withFailingSyncs(which: string, command: readonly string[]): string[] {
  const inject = `inject=fdatasync,fsync:error=EIO:when=${which}`;
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync,fsync', '-e', inject, ...command];
}

describe.skipIf(!hasStrace)('failing fsync (needs strace)', () => {
  it.each(['40+', '41+', '47+'])(
    'a refused append does not reappear after kill -9 when syncs %s fail',
    async (which) => {
      const child = startChild(withFailingSyncs(which, childCommand(dir, 'first-failure')));
      await child.ended();
      const { acked, failed, errors } = answersOf(child.lines);
      expect([...errors]).toEqual(['LogUnavailableError']);
      expect(failed.size).toBe(1);
      expect(acked.size).toBeGreaterThan(5);
      expect([...(await survivors(dir, 0))]).toEqual([...acked]);
    },
  );

  it('appends work again once syncs do', async () => {
    const child = startChild(withFailingSyncs('40..49', childCommand(dir, 'append')));
    expect(await child.sees('fail ')).toBe(true);
    expect(await child.sees('ack ', child.lines.length)).toBe(true);
    const seen = child.lines.map((line) => line.split(' '));
    const pid = Number(seen.find(([kind]) => kind === 'ack')?.[2]?.split('-')[0]);
    process.kill(pid, 'SIGKILL');
    await child.ended();
    await expectOnlyAcked(dir, child.lines);
  });
});

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

describe.skipIf(!hasPrlimit)('a file that cannot grow (needs prlimit)', () => {
  it('appends are refused and work again once it can', async () => {
    const child = startChild(['prlimit', `--fsize=${400_000}:`, ...childCommand(dir, 'append')]);
    expect(await child.sees('fail ')).toBe(true);
    await run('prlimit', ['--pid', String(child.process.pid), '--fsize=unlimited:']);
    const before = child.lines.length;
    expect(await child.sees('ack ', before)).toBe(true);
    child.process.kill('SIGKILL');
    await child.ended();
    await expectOnlyAcked(dir, child.lines);
  });
});

const mayMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

describe.skipIf(!mayMount)('disk full (needs the right to mount)', () => {
  it('appends are refused, leave nothing readable and work again once there is space', async () => {
    const ballast = `head -c 8000000 /dev/zero >"${dir}/ballast"`;
    const script = `mount -t tmpfs -o size=12m tmpfs "${dir}" && ${ballast} && exec "$@"`;
    const child = startChild(['unshare', '-m', 'sh', '-c', script, 'sh', ...childCommand(dir, 'disk-full')]);
    await child.ended();
    const { acked, failed, errors } = answersOf(child.lines);
    const said = (word: string) =>
      child.lines.filter((line) => line.startsWith(word)).map((line) => line.split(' ')[1]);
    const [whenFull, withQuota, afterDrain] = said('readable').map((list = '') => list.split(',').map(Number));
    const seqs = [...acked.keys()];
    const roomAt = seqs.findIndex((seq) => acked.get(seq) === 'room');
    expect([...errors]).toEqual(['LogUnavailableError']);
    expect(failed.size).toBeGreaterThanOrEqual(3);
    expect(said('room')).toEqual(['true']);
    expect(whenFull).toEqual(seqs.slice(0, roomAt));
    expect(withQuota).toEqual(seqs.slice(0, roomAt + 1));
    // Only the consumer made room: drained files were removed although there was no space to delete rows.
    expect(afterDrain).toEqual(seqs.filter((seq) => acked.get(seq)?.startsWith('c')));
    expect(afterDrain?.length).toBe(1);
  });
});
