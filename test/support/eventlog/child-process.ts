/**
 * A separate process for the tests that kill it or take its disk away. Arguments: DIR MODE COMMITTED.
 * Appends to the live lane and prints one line per answer: `ack SEQ NAME`, `fail ERROR NAME`, `committed SEQ`.
 * Modes: `append` runs for ever with 8 writers and a consumer; `first-failure` ends itself (kill -9) at the first
 * rejected append, with one writer; `close` closes while it waits; `disk-full` plays through a full disk, with a file
 * DIR/../ballast to make room.
 */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { header, noLimits } from '../../conformance/event-log/event-log.ts';
import { openSqliteLogReader } from '../../../src/log/sqlite/reader.ts';
import { openSqliteLogWriter } from '../../../src/log/sqlite/writer.ts';

const [dir = '', mode = '', committed = '0'] = process.argv.slice(2);
const writer = await openSqliteLogWriter(dir, {
  committed: { live: Number(committed), historical: 0 },
  // A disk that fills up within one file is the harder case: no older file can go.
  segmentBytes: (mode === 'disk-full' ? 64 : 1) * 1024 * 1024,
  onProblem: (sentence) => say(`problem ${sentence}`),
});
const reader = openSqliteLogReader(dir, writer.shared);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Resolves once the kernel has the line, so that it outlives a kill -9: a parent that is slow to read leaves lines here. */
function said(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}

async function appendOne(name: string): Promise<boolean> {
  const padding = randomBytes(20_000);
  const body = new Uint8Array(Buffer.concat([Buffer.from(`${name}\n`), padding]));
  try {
    say(`ack ${await writer.append('live', { header: header(name), body })} ${name}`);
    return true;
  } catch (error) {
    say(`fail ${error instanceof Error ? error.name : String(error)} ${name}`);
    return false;
  }
}

async function appendForever(who: number): Promise<never> {
  for (let n = 0; ; n += 1) if (!(await appendOne(`${process.pid}-${who}-${n}`))) await delay(20);
}

async function consumeForever(): Promise<never> {
  let cursor = Number(committed);
  for (;;) {
    const last = (await reader.read('live', cursor, { events: 20, bytes: Infinity })).at(-1);
    if (last === undefined) await reader.waitForAppend(50);
    else {
      cursor = last.seq;
      // Before the commit takes effect: the parent must not take what is deleted for lost.
      await said(`committed ${cursor}`);
      reader.commit('live', cursor);
      await delay(5);
    }
  }
}

async function untilFirstFailure(): Promise<void> {
  for (let n = 0; await appendOne(`${process.pid}-${n}`); n += 1);
  process.kill(process.pid, 'SIGKILL');
}

async function readable(afterSeq: number): Promise<void> {
  const found = await reader.read('live', afterSeq, noLimits);
  say(`readable ${found.filter(({ damaged }) => damaged === undefined).map(({ seq }) => seq)}`);
}

async function throughDiskFull(): Promise<void> {
  for (let n = 0; await appendOne(`a${n}`); n += 1);
  await appendOne('still full');
  await readable(0);
  rmSync(join(dirname(dir), 'ballast'));
  say(`room ${await appendOne('room')}`);
  await readable(0);
  // Full again, and now only the consumer makes room.
  for (let n = 0; await appendOne(`b${n}`); n += 1);
  const last = (await reader.read('live', 0, noLimits)).at(-1)?.seq ?? 0;
  reader.commit('live', last);
  let drained = false;
  for (let n = 0; n < 40 && !drained; n += 1) {
    // Like a consumer, which closes deleted files.
    await reader.waitForAppend(50);
    drained = await appendOne(`c${n}`);
  }
  await readable(last);
  await reader.close();
  await writer.close();
}

async function closeWhileWaiting(): Promise<void> {
  await appendOne('a');
  const first = reader.waitForAppend(600_000);
  const second = reader.waitForAppend(600_000);
  await reader.close();
  await writer.close();
  await Promise.all([first, second]);
  say('closed');
}

// A test that fails must not leave a busy process behind.
setTimeout(() => process.kill(process.pid, 'SIGKILL'), 60_000).unref();
say('ready');
if (mode === 'append') {
  await Promise.all([consumeForever(), ...Array.from({ length: 8 }, (_, who) => appendForever(who))]);
} else if (mode === 'first-failure') await untilFirstFailure();
else if (mode === 'close') await closeWhileWaiting();
else await throughDiskFull();
