import type { PlainTable } from './plain-table.ts';
import type { AnswerDeps } from './answers.ts';
import type { CompiledTable } from './compiled-table.ts';
import type { PlainMachine } from './machine.ts';
import type { MemoryRoom, Piece } from './memory-room.ts';
import type { Asking, Memos } from './memos.ts';

/** What the table of a format is written into memory with. */
export interface Writing {
  readonly machine: PlainMachine;
  /** Of what stands as long as the table. */
  readonly room: MemoryRoom;
  readonly table: PlainTable;
  readonly compiled: CompiledTable;
  readonly answers: AnswerDeps;
  readonly memos: Memos;
}

export const wordBytes = 4;

export function membersAsked({ memberOf }: CompiledTable, paths: readonly string[]): Asking {
  return { of: 'members', numbers: paths.map(memberOf) };
}

/** Two words. */
export function placeOf({ from, bytes }: Piece): [number, number] {
  return [from, bytes];
}
