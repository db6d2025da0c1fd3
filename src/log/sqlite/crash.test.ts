import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededRandom } from '../../../test/support/draw.ts';
import { answersOf, childCommand, startChild, survivors } from '../../../test/support/eventlog/child-log.ts';
import { record } from '../../../test/conformance/event-log/event-log.ts';
import { openSqliteLogWriter } from './writer.ts';

// Real processes, kill -9 and files. Compares what the child printed before it died with what another process reads.

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-crash-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('kill -9', () => {
  it('every acknowledged record is readable once, and numbers continue above all used ones, in 10 rounds', async () => {
    const random = seededRandom(20_261_120);
    const all = new Map<number, string>();
    let committed = 0;
    let highest = 0;
    for (let round = 0; round < 10; round += 1) {
      const child = startChild(childCommand(dir, 'append', committed));
      // Waits for output rather than time, because the speed depends on the machine.
      expect(await child.sees('ack ', 1 + Math.floor(random() * 60))).toBe(true);
      child.process.kill('SIGKILL');
      await child.ended();
      const answers = answersOf(child.lines);
      const seqs = [...answers.acked.keys()];
      expect(Math.min(...seqs)).toBeGreaterThan(highest);
      for (const [seq, name] of answers.acked) all.set(seq, name);
      committed = Math.max(committed, answers.committed);
      const found = await survivors(dir, committed);
      const lost = [...all].filter(([seq, name]) => seq > committed && found.get(seq) !== name);
      expect(lost).toEqual([]);
      highest = Math.max(...seqs, ...found.keys());
    }
    expect(all.size).toBeGreaterThan(100);
  }, 180_000);
});

describe('close', () => {
  it('a process that closes the log while it waits ends on its own', async () => {
    const child = startChild(childCommand(dir, 'close'));
    await child.ended();
    expect(child.lines.at(-1)).toBe('closed');
    expect(child.process.exitCode).toBe(0);
  });
});

describe('exclusive ownership', () => {
  it('a second process is refused with a message and can write once the first has ended', async () => {
    const child = startChild(childCommand(dir, 'append'));
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
