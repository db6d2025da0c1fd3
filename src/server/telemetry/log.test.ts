import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fillDisk, mayMount, smallDisk } from '../../../test/support/small-disk.ts';
import { createLog, stderrLines } from './log.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-log-'));
afterAll(() => rmSync(dir, { recursive: true }));

it.skipIf(!existsSync('/dev/full'))('a line that does not fit on a full disk is dropped and counted', () => {
  const fd = openSync('/dev/full', 'w');
  let dropped = 0;
  const log = createLog(
    'info',
    stderrLines(() => (dropped += 1), fd),
  );
  for (let n = 0; n < 10; n += 1) log.info('lost');
  expect(dropped).toBe(10);
  closeSync(fd);
});

it.skipIf(!mayMount)('the log continues when there is space again, with complete lines', () => {
  const disk = join(dir, 'disk');
  using _disk = smallDisk(disk, 1);
  const file = join(disk, 'log');
  const fd = openSync(file, 'a');
  let dropped = 0;
  const log = createLog(
    'info',
    stderrLines(() => (dropped += 1), fd),
  );
  log.info('first');
  const ballast = fillDisk(disk);
  for (let n = 0; n < 100; n += 1) log.info('x'.repeat(100));
  expect(dropped).toBeGreaterThan(0);
  rmSync(ballast);
  log.info('last');
  closeSync(fd);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ msg: 'first' });
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ msg: 'last' });
});

it('a blocked reader loses lines and does not block the service', () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  let dropped = 0;
  const lines = stderrLines(() => (dropped += 1), writer);
  for (let n = 0; n < 2000; n += 1) lines.write(`${'x'.repeat(99)}\n`);
  expect(dropped).toBeGreaterThan(0);
  readSync(reader, Buffer.alloc(1 << 20));
  const before = dropped;
  lines.write('read again\n');
  expect(dropped).toBe(before);
  closeSync(writer);
  closeSync(reader);
});
