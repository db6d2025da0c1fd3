import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noLimits, record } from './conformance.ts';
import type { StoredRecord } from './eventlog.ts';
import { openSqliteLogReader } from './sqlite-reader.ts';
import { openSqliteLogWriter } from './sqlite.ts';

// Real: processes, kill -9, file-size limits, failing fsync (strace), full disks (tmpfs), files.
// Observed: what the child printed before it died, against what a fresh process can read.

const fixture = fileURLToPath(new URL('./sqlite-child.fixture.ts', import.meta.url));
const run = promisify(execFile);

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves with true once a line begins with `start` (counted from `from` on), with false when the process ends before. */
  sees(start: string, from?: number): Promise<boolean>;
  ended(): Promise<void>;
}

function startChild(command: readonly string[]): Child {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  let rest = '';
  const state = { over: false };
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => {
      state.over = true;
      resolve();
    });
  });
  const sees = async (start: string, from = 0): Promise<boolean> => {
    while (!state.over && !lines.slice(from).some((line) => line.startsWith(start))) await delay(5);
    return lines.slice(from).some((line) => line.startsWith(start));
  };
  return { process: child, lines, sees, ended: () => closed };
}

function childCommand(mode: string, committed = 0): string[] {
  return [process.execPath, fixture, join(dir, 'log'), mode, String(committed)];
}

interface Answers {
  readonly acked: Map<number, string>;
  readonly failed: Set<string>;
  readonly errors: Set<string>;
  readonly committed: number;
}

function answersOf(lines: readonly string[]): Answers {
  const acked = new Map<number, string>();
  const failed = new Set<string>();
  const errors = new Set<string>();
  let committed = 0;
  for (const line of lines) {
    const [kind, value = '', name = ''] = line.split(' ');
    if (kind === 'ack') acked.set(Number(value), name);
    if (kind === 'committed') committed = Number(value);
    if (kind === 'fail') {
      failed.add(name);
      errors.add(value);
    }
  }
  return { acked, failed, errors, committed };
}

function nameOf(found: StoredRecord): string {
  if (found.damaged !== undefined) throw new Error(`expected an intact record, got: ${found.damaged}`);
  return new TextDecoder().decode(found.body.subarray(0, found.body.indexOf(10)));
}

/** Names by seq of what a fresh process finds beyond the cursor; fails when one comes twice. */
async function survivors(committed: number): Promise<Map<number, string>> {
  const writer = await openSqliteLogWriter(join(dir, 'log'), { committed: { live: committed, historical: 0 } });
  const reader = openSqliteLogReader(join(dir, 'log'), writer.shared);
  try {
    const found = await reader.read('live', committed, noLimits);
    const names = new Map(found.map((each) => [each.seq, nameOf(each)]));
    expect(new Set(names.values()).size).toBe(found.length);
    expect(writer.backlog('live').records).toBe(found.length);
    return names;
  } finally {
    await reader.close();
    await writer.close();
  }
}

/** Small generator of repeatable numbers in [0, 1). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

describe('kill -9', () => {
  it('every acknowledged record is readable once, and numbers go on above all that were used, in 10 rounds', async () => {
    const random = seeded(20_261_120);
    const all = new Map<number, string>();
    let committed = 0;
    let highest = 0;
    for (let round = 0; round < 10; round += 1) {
      const child = startChild(childCommand('append', committed));
      expect(await child.sees('ack ')).toBe(true);
      await delay(random() * 300);
      child.process.kill('SIGKILL');
      await child.ended();
      const answers = answersOf(child.lines);
      const seqs = [...answers.acked.keys()];
      expect(Math.min(...seqs)).toBeGreaterThan(highest);
      for (const [seq, name] of answers.acked) all.set(seq, name);
      committed = Math.max(committed, answers.committed);
      const found = await survivors(committed);
      const lost = [...all].filter(([seq, name]) => seq > committed && found.get(seq) !== name);
      expect(lost).toEqual([]);
      highest = Math.max(...seqs, ...found.keys());
    }
    expect(all.size).toBeGreaterThan(100);
  }, 30_000);
});

const hasStrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;

/** The child with syncs that fail, `which` as strace counts them. The first twenty or so belong to the opening. */
function withFailingSyncs(which: string, command: readonly string[]): string[] {
  const inject = `inject=fdatasync,fsync:error=EIO:when=${which}`;
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync,fsync', '-e', inject, ...command];
}

describe.skipIf(!hasStrace)('failing fsync (needs strace)', () => {
  it.each(['40+', '41+', '47+'])('a refused append does not come back after kill -9: syncs %s fail', async (which) => {
    const child = startChild(withFailingSyncs(which, childCommand('first-failure')));
    await child.ended();
    const { acked, failed, errors } = answersOf(child.lines);
    expect([...errors]).toEqual(['LogUnavailableError']);
    expect(failed.size).toBe(1);
    expect(acked.size).toBeGreaterThan(5);
    expect([...(await survivors(0))]).toEqual([...acked]);
  });

  it('appends work again once syncs do', async () => {
    const child = startChild(withFailingSyncs('40..49', childCommand('append')));
    expect(await child.sees('fail ')).toBe(true);
    expect(await child.sees('ack ', child.lines.length)).toBe(true);
    const seen = child.lines.map((line) => line.split(' '));
    const pid = Number(seen.find(([kind]) => kind === 'ack')?.[2]?.split('-')[0]);
    process.kill(pid, 'SIGKILL');
    await child.ended();
    await expectOnlyAcked(child.lines);
  });
});

/** Every acknowledged record beyond the cursor is there, and none that was refused. */
async function expectOnlyAcked(lines: readonly string[]): Promise<void> {
  const { acked, failed, errors, committed } = answersOf(lines);
  expect([...errors]).toEqual(['LogUnavailableError']);
  const found = await survivors(committed);
  const names = new Set(found.values());
  expect([...failed].filter((name) => names.has(name))).toEqual([]);
  expect([...acked].filter(([seq, name]) => seq > committed && found.get(seq) !== name)).toEqual([]);
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

describe.skipIf(!hasPrlimit)('a file that cannot grow (needs prlimit)', () => {
  it('appends are refused, and work again once it can', async () => {
    const child = startChild(['prlimit', `--fsize=${400_000}:`, ...childCommand('append')]);
    expect(await child.sees('fail ')).toBe(true);
    await run('prlimit', ['--pid', String(child.process.pid), '--fsize=unlimited:']);
    const before = child.lines.length;
    expect(await child.sees('ack ', before)).toBe(true);
    child.process.kill('SIGKILL');
    await child.ended();
    await expectOnlyAcked(child.lines);
  });
});

const mayMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

describe.skipIf(!mayMount)('disk full (needs the right to mount)', () => {
  it('appends are refused, nothing of them is readable, and they work again once there is space', async () => {
    const script = `mount -t tmpfs -o size=12m tmpfs "${dir}" && head -c 8000000 /dev/zero >"${dir}/ballast" && exec "$@"`;
    const child = startChild(['unshare', '-m', 'sh', '-c', script, 'sh', ...childCommand('disk-full')]);
    await child.ended();
    const { acked, failed, errors } = answersOf(child.lines);
    const said = (word: string) =>
      child.lines.filter((line) => line.startsWith(word)).map((line) => line.split(' ')[1]);
    const [whenFull, withRoom, afterDrain] = said('readable').map((list = '') => list.split(',').map(Number));
    const seqs = [...acked.keys()];
    const roomAt = seqs.findIndex((seq) => acked.get(seq) === 'room');
    expect([...errors]).toEqual(['LogUnavailableError']);
    expect(failed.size).toBeGreaterThanOrEqual(3);
    expect(said('room')).toEqual(['true']);
    expect(whenFull).toEqual(seqs.slice(0, roomAt));
    expect(withRoom).toEqual(seqs.slice(0, roomAt + 1));
    // The consumer alone made room: the drained files went although deleting rows had no space left.
    expect(afterDrain).toEqual(seqs.filter((seq) => acked.get(seq)?.startsWith('c')));
    expect(afterDrain?.length).toBe(1);
  });
});

describe('close', () => {
  it('a process that closes the log while it waits ends by itself', async () => {
    const child = startChild(childCommand('close'));
    await child.ended();
    expect(child.lines.at(-1)).toBe('closed');
    expect(child.process.exitCode).toBe(0);
  });
});

describe('exclusive ownership', () => {
  it('a second process is refused with a sentence, and may write once the first is gone', async () => {
    const child = startChild(childCommand('append'));
    expect(await child.sees('ack ')).toBe(true);
    const options = { committed: { live: 0, historical: 0 } };
    await expect(openSqliteLogWriter(join(dir, 'log'), options)).rejects.toMatchObject({
      name: 'LogOpenError',
      code: 'in_use',
      message: expect.stringContaining('in use by another process'),
    });
    child.process.kill('SIGKILL');
    await child.ended();
    const writer = await openSqliteLogWriter(join(dir, 'log'), options);
    expect(await writer.append('live', record('mine'))).toBeGreaterThan(0);
    await writer.close();
  });
});
