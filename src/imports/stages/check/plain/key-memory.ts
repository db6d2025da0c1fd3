import { isOddKey, oddKey, type KeyMeaning, type MeaningOf } from './key-meaning.ts';
import type { MemoryRoom } from './memory-room.ts';
import { nameNumbersMax } from './name-numbers.ts';
import { placeOf, wordBytes, type Writing } from './writing.ts';

/** What keys mean, in the machine's memory, as assembly/convert/entries.ts describes it. */
export interface KeyMemory {
  /** Place of what a key means in the object or list of pairs with this number. */
  meaningOfKey(table: number, key: Buffer): number;
  /** Place of an entry that makes its record odd. */
  readonly oddEntry: number;
  /** Place of the numbers of names that somebody wants to hear. */
  readonly heard: number;
  /** All keys that were met. */
  forget(): void;
}

const slots = 4096;
const pairKinds = ['string_value', 'int_value', 'double_value', 'float_value', 'set_timestamp_micros'];
/** Words of `KeyTable`. */
const keyTableWords = { slots: 0, entries: 1, start: 2 } as const;
const keyTableBytes = 32;

export function writeKeys(writing: Writing): KeyMemory {
  const { machine, room, compiled, answers } = writing;
  const pairs = compiled.pairs.map((each) => ({ mayBeText: false, mayBeEmpty: false, ...each }));
  const all = [...compiled.objects, ...pairs];
  const starts = all.map(() => putEntry(writing, room, oddKey, Buffer.alloc(0)));
  const slotsOf = all.map(() => room.takeZeros(slots * wordBytes));
  const first = room.putWords(
    all.flatMap(({ mayBeText, mayBeEmpty, isNeeded }, number) => {
      const places = [slotsOf[number] ?? 0, 0, starts[number] ?? 0, number];
      return [...places, Number(mayBeText), Number(mayBeEmpty), Number(isNeeded), 0];
    }),
  );
  const kinds = room.putWords(
    pairKinds.flatMap((kind) => {
      const { from, bytes } = room.putText(`"${kind}":`);
      return [from, bytes];
    }),
  );
  const heard = room.take(nameNumbersMax * 2 * wordBytes);
  machine.set({
    objects: first,
    objectCount: compiled.objects.length,
    pairLists: first + compiled.objects.length * keyTableBytes,
    pairListCount: pairs.length,
    pairKinds: kinds,
    keysHad: room.takeZeros(nameNumbersMax * wordBytes),
    heard,
  });
  return {
    heard,
    oddEntry: putEntry(writing, room, oddKey, Buffer.alloc(0)),
    meaningOfKey: (number, key) => {
      const { meaningOf } = all[number] as { readonly meaningOf: MeaningOf };
      const name = key.toString('utf8', 1, key.length - 1);
      return putEntry(writing, answers.room, isOddKey(name) ? oddKey : meaningOf(name), key);
    },
    forget: () => {
      for (const [number, place] of slotsOf.entries()) {
        machine.bytes.fill(0, place, place + slots * wordBytes);
        machine.words[(first + number * keyTableBytes) / wordBytes + keyTableWords.entries] = 0;
        machine.words[(starts[number] ?? 0) / wordBytes + entryWords.next] = 0;
      }
    },
  };
}

const entryWords = { next: 21 } as const;

/** As `Entry` in assembly/convert/entries.ts. */
export function putEntry({ machine, answers }: Writing, room: MemoryRoom, meaning: KeyMeaning, key: Buffer): number {
  const output = room.putBytes(meaning.output);
  const nothing = room.putWords(meaning.nothing.flatMap((value) => placeOf(room.putBytes(value))));
  const fields = room.putWords(meaning.fields.flatMap(({ list, index }) => [list, index]));
  const group = meaning.group === undefined ? 0 : meaning.group === '$set' ? 1 : 2;
  const heard = meaning.heard === undefined ? -1 : answers.heardNumber(meaning.heard);
  const words = [
    key.length,
    Number(meaning.isOdd),
    meaning.object,
    meaning.pairs,
    Number(meaning.isNoObject),
    meaning.member,
    meaning.list,
    meaning.property,
    Number(meaning.isKept),
    meaning.ownKey,
    meaning.ownName,
    meaning.name,
    group,
    Number(meaning.isOfPerson),
    heard,
    output.from,
    output.bytes,
    nothing,
    meaning.nothing.length,
    fields,
    meaning.fields.length,
    0,
  ];
  const entry = room.putWords(words, key.length);
  machine.bytes.set(key, entry + words.length * wordBytes);
  return entry;
}
