import { parseExactValues } from '../../../../base/exact-json.ts';
import { wordBytes, type Arena } from './arena.ts';
import type { ConvertModule } from './convert-module.ts';

/** Inputs of a memo: numbers of members or properties; -1 for one that no record has. */
export interface MemoInputs {
  readonly of: 'members' | 'properties';
  readonly numbers: readonly number[];
}

/** Computes the answer for some values: its address, or 0 if they make the record unusual. */
export type MakeAnswer = (values: readonly unknown[]) => number;

/** Answers that follow from some values of a record, cached by the bytes of these values (assembly/convert/answers.ts). */
export interface Memos {
  /** Returns the address of a new memo. The number of slots must be a power of two. */
  add(slots: number, inputs: MemoInputs, make: MakeAnswer): number;
  /** Computes the answer for the current record. */
  answerTo(memo: number): number;
  /** Drops all answers. */
  clear(): void;
}

const keyBytesMax = 248;
const quote = 0x22;
const backslash = 0x5c;

/** `spansOf` are the addresses of the spans of values: start and end of each. */
export function createMemos(
  module: ConvertModule,
  arena: Arena,
  spansOf: Readonly<Record<MemoInputs['of'], number>>,
): Memos {
  const memos: { readonly inputs: MemoInputs; readonly make: MakeAnswer }[] = [];
  const lengths: { readonly from: number; readonly slots: number }[] = [];
  const valueOf = (of: MemoInputs['of'], number: number): unknown => {
    if (number < 0) return undefined;
    const { words, bytes } = module;
    const span = spansOf[of] / wordBytes + number * 2;
    const from = words[span] as number;
    return from === 0 ? undefined : valueAt(bytes, from, words[span + 1] as number);
  };
  return {
    add: (slots, inputs, make) => {
      const { of, numbers } = inputs;
      const keys = arena.allocate(slots * keyBytesMax);
      const length = arena.allocateZeros(slots);
      lengths.push({ from: length, slots });
      const columns = [keys, length, arena.allocate(slots * wordBytes)];
      memos.push({ inputs, make });
      const head = [memos.length - 1, Number(of === 'properties'), arena.putWords(numbers), numbers.length, slots - 1];
      return arena.putWords([...head, ...columns]);
    },
    answerTo: (memo) => {
      const { inputs, make } = memos[memo] as (typeof memos)[number];
      return make(inputs.numbers.map((number) => valueOf(inputs.of, number)));
    },
    clear: () => {
      for (const { from, slots } of lengths) module.bytes.fill(0, from, from + slots);
    },
  };
}

/** Parses valid JSON. */
function valueAt(json: Buffer, from: number, to: number): unknown {
  const isPlainText = json[from] === quote && !json.subarray(from, to).includes(backslash);
  return isPlainText ? json.toString('utf8', from + 1, to - 1) : parseExactValues(json.toString('utf8', from, to));
}
