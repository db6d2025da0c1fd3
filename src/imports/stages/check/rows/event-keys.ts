import { readUuidWords } from '../../../../base/uuid-words.ts';

/**
 * A 64-bit key that represents the identity of an event (event, distinct_id, uuid) in the search for duplicates. The two halves are mixed
 * with different constants. It does not resist deliberate collisions, which could only affect the attacker's own events.
 */
export interface Words {
  low: number;
  high: number;
}

/** Hashes the name of an event or a distinct_id. */
export function hashText(text: string, words: Words): void {
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(((high << 5) | (high >>> 27)) ^ code, 0x85ebca6b);
  }
  words.low = finish(low ^ text.length);
  words.high = finish(high ^ Math.imul(text.length, 0x27d4eb2f));
}

/** Hashes the identity of an event; `uuid` has 36 characters. */
export function hashIdentity(uuid: string, name: Words, distinctId: Words, words: Words): void {
  readUuidWords(uuid, uuidWords);
  let low = name.low;
  let high = name.high;
  for (let index = 0; index < 4; index += 1) {
    const word = uuidWords[index] as number;
    low = mix(low, word, 0xcc9e2d51, 0x1b873593);
    high = mix(high, word, 0x239b961b, 0xab0e9789);
  }
  low = mix(low, distinctId.low, 0xcc9e2d51, 0x1b873593);
  high = mix(high, distinctId.high, 0x239b961b, 0xab0e9789);
  words.low = finish(low);
  words.high = finish(high);
}

const uuidWords = new Uint32Array(4);

function mix(state: number, word: number, first: number, second: number): number {
  const spread = Math.imul(word, first);
  const mixed = state ^ Math.imul((spread << 15) | (spread >>> 17), second);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(state: number): number {
  let mixed = state ^ (state >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
