import { parseExactValues } from '../../../../base/exact-json.ts';
import type { PlainMachine } from './machine.ts';
import type { MemoryRoom } from './memory-room.ts';

/** Which values of a record a question is about. `numbers`: of members or properties; -1 for one that no record has. */
export interface Asking {
  readonly of: 'members' | 'properties';
  readonly numbers: readonly number[];
}

/** Makes the answer, once for the same values: its place in memory, or 0 where the record is odd. */
export type MakeAnswer = (values: readonly unknown[]) => number;

/** Questions about values of records, remembered by the bytes of the values (assembly/convert/answers.ts). */
export interface Memos {
  /** Place of a new one, with so many slots: a power of two. */
  add(slots: number, asking: Asking, make: MakeAnswer): number;
  answerTo(memo: number): number;
  /** All that is remembered. */
  forget(): void;
}

const rememberedMax = 248;
const quote = 0x22;
const backslash = 0x5c;

/** `spansOf`: where the spans of values stand, start and end of each. */
export function createMemos(
  machine: PlainMachine,
  room: MemoryRoom,
  spansOf: Readonly<Record<Asking['of'], number>>,
): Memos {
  const makers: { readonly asking: Asking; readonly make: MakeAnswer }[] = [];
  const lengths: { readonly from: number; readonly slots: number }[] = [];
  const valueOf = (of: Asking['of'], number: number): unknown => {
    if (number < 0) return undefined;
    const { words, bytes } = machine;
    const span = spansOf[of] / 4 + number * 2;
    const from = words[span] as number;
    return from === 0 ? undefined : valueAt(bytes, from, words[span + 1] as number);
  };
  return {
    add: (slots, asking, make) => {
      const { of, numbers } = asking;
      const keys = room.take(slots * rememberedMax);
      const length = room.takeZeros(slots);
      lengths.push({ from: length, slots });
      const places = [keys, length, room.take(slots * 4)];
      makers.push({ asking, make });
      const isOfProperties = Number(of === 'properties');
      const given = [makers.length - 1, isOfProperties, room.putWords(numbers), numbers.length, slots - 1];
      return room.putWords([...given, ...places]);
    },
    answerTo: (memo) => {
      const { asking, make } = makers[memo] as (typeof makers)[number];
      return make(asking.numbers.map((number) => valueOf(asking.of, number)));
    },
    forget: () => {
      for (const { from, slots } of lengths) machine.bytes.fill(0, from, from + slots);
    },
  };
}

/** Of valid JSON. */
function valueAt(json: Buffer, from: number, to: number): unknown {
  const isPlain = json[from] === quote && !json.subarray(from, to).includes(backslash);
  return isPlain ? json.toString('utf8', from + 1, to - 1) : parseExactValues(json.toString('utf8', from, to));
}
