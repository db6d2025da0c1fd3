/** For tests: the process of child-process.ts, what it said, and what of it a fresh process finds. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { noLimits } from '../../conformance/event-log/event-log.ts';
import type { StoredRecord } from '../../../src/log/eventlog.ts';
import { openSqliteLogWriter } from '../../../src/log/sqlite/writer.ts';
import { openSqliteLogReader } from '../../../src/log/sqlite/reader.ts';

const fixture = fileURLToPath(new URL('./child-process.ts', import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** True once a line from number `from` on begins with `start`; false when the process ends before. */
  sees(start: string, from?: number): Promise<boolean>;
  ended(): Promise<void>;
}

export function startChild(command: readonly string[]): Child {
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

/** The log is in `<dir>/log`. */
export function childCommand(dir: string, mode: string, committed = 0): string[] {
  return [process.execPath, fixture, join(dir, 'log'), mode, String(committed)];
}

export interface Answers {
  readonly acked: Map<number, string>;
  readonly failed: Set<string>;
  readonly errors: Set<string>;
  readonly committed: number;
}

export function answersOf(lines: readonly string[]): Answers {
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
export async function survivors(dir: string, committed: number): Promise<Map<number, string>> {
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

/** Every acknowledged record beyond the cursor is there, and none that was refused. */
export async function expectOnlyAcked(dir: string, lines: readonly string[]): Promise<void> {
  const { acked, failed, errors, committed } = answersOf(lines);
  expect([...errors]).toEqual(['LogUnavailableError']);
  const found = await survivors(dir, committed);
  const names = new Set(found.values());
  expect([...failed].filter((name) => names.has(name))).toEqual([]);
  expect([...acked].filter(([seq, name]) => seq > committed && found.get(seq) !== name)).toEqual([]);
}
