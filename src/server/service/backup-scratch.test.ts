import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clearDeadBackup, takeBackupScratch } from './backup-scratch.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'millrace-scratch-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** Creates the remains of a killed backup: a link to a part of the store, and the opened twin of the copy. */
function leaveLinks(): void {
  writeFileSync(join(dataDir, 'part.bin'), 'rows');
  for (const name of ['copy', 'look']) {
    mkdirSync(join(dataDir, 'backup', name, 'events'), { recursive: true });
    linkSync(join(dataDir, 'part.bin'), join(dataDir, 'backup', name, 'events', 'part.bin'));
  }
}
const links = (): number => statSync(join(dataDir, 'part.bin')).nlink;

it('the remains of a killed backup are removed, and the files of the store stay', async () => {
  leaveLinks();
  expect(links()).toBe(3);
  await clearDeadBackup(dataDir);
  expect(links()).toBe(1);
  expect(readdirSync(join(dataDir, 'backup'))).toEqual(['lock.sqlite']);
});

it('the files of a running backup are kept, and the next one can begin after it', async () => {
  leaveLinks();
  const working = await takeBackupScratch(dataDir);
  expect(await takeBackupScratch(dataDir)).toBeUndefined();
  await clearDeadBackup(dataDir);
  expect(links()).toBe(3);
  working?.[Symbol.dispose]();
  using next = await takeBackupScratch(dataDir);
  expect(next).toBeDefined();
});

it('a data directory without a backup gets no directory for one', async () => {
  await clearDeadBackup(dataDir);
  expect(existsSync(join(dataDir, 'backup'))).toBe(false);
});
