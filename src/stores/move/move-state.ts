import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MonthRowKey } from '../events/month-rows.ts';
import type { TableTotals } from './table-totals.ts';

/** Progress of a move, in a file of the moved directory: a restarted move continues from there. */
export interface MoveState {
  /** Identifies the move in tokens and in the target. */
  readonly id: string;
  readonly started_at: string;
  /** The target stores, without passwords. */
  readonly target: string;
  /** Done: the target has everything. */
  stage: 'copying' | 'done';
  /** Copied and compared, by name. */
  readonly tables: Record<string, TableTotals>;
  /** Copied and compared, by `project/month`. */
  readonly months: Record<string, MonthTotals>;
  /** The month being copied. */
  current: MonthPlace | null;
}

export interface MonthTotals {
  /** Number of events as reads return them. */
  readonly events: number;
  /** Sum of the hashes of all columns of each, modulo 2^64. */
  readonly checksum: string;
}

/** Position up to which rows of a month have been inserted. */
export interface MonthPlace {
  readonly month: string;
  readonly which: 'stored' | 'shown';
  readonly after: MonthRowKey;
}

function moveFile(dataDir: string): string {
  return join(dataDir, 'move.json');
}

/** Returns undefined if no move was started. */
export function readMoveState(dataDir: string): MoveState | undefined {
  const file = moveFile(dataDir);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MoveState) : undefined;
}

/** Writes atomically and durably: the target must never be more than one step ahead of it. */
export function writeMoveState(dataDir: string, state: MoveState): void {
  const file = moveFile(dataDir);
  const draft = `${file}.new`;
  const handle = openSync(draft, 'w', 0o600);
  writeSync(handle, `${JSON.stringify(state, null, 2)}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(draft, file);
  const directory = openSync(dirname(file), 'r');
  fsyncSync(directory);
  closeSync(directory);
}

/** Returns why a service must not start in this directory, or `undefined` if it may. */
export function moveProblem(dataDir: string): string | undefined {
  const state = readMoveState(dataDir);
  if (state === undefined) return undefined;
  const advice = `to use this directory again, without what the target has received since, delete ${moveFile(dataDir)}`;
  return state.stage === 'done'
    ? `expected a data directory in use, got one that was moved to other stores; start the service on those, or, ${advice}`
    : `expected a data directory in use, got one that is being moved; run the same "millrace move" again to finish, or, ${advice}`;
}
