import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { readUuidWords } from '../../../../base/uuid-words.ts';
import { contentWords, identityWords, runMark } from '../../../checksum.ts';
import { hashIdentity, hashText } from './event-keys.ts';

/**
 * The `$identify` events that the converter derives in a segment, the earliest for each pair of ids. There may be as many as persons, so
 * they are columns instead of objects. Can be sent between threads.
 */
export interface PackedLinks {
  readonly count: number;
  /** In the byte order of the engine, 16 bytes each. */
  readonly uuids: Uint8Array;
  /** Keys of the identities (event-keys.ts), two words each. */
  readonly keys: Uint32Array;
  /** Times, in µs since the epoch. */
  readonly micros: Float64Array;
  /** `received_at`, in µs since the epoch. */
  readonly places: Float64Array;
  /** Contributions to the checksums (src/imports/checksum.ts), four words each. */
  readonly sums: Uint32Array;
  /** The distinct_id and the properties of each link, concatenated UTF-8. */
  readonly texts: Uint8Array;
  /** Ends of these texts, two numbers each. */
  readonly ends: Uint32Array;
}

export interface SegmentLinks {
  /** Adds a link, or replaces the time and place of a known one with earlier ones. */
  add(event: WireEvent, micros: number, place: number): void;
  /** Number of calls of `add`. */
  readonly added: number;
  pack(): PackedLinks;
}

interface Link {
  readonly uuid: string;
  readonly distinctId: string;
  /** JSON without the mark of the run. */
  readonly properties: string;
  micros: number;
  place: number;
}

export const packedLinkName = '$identify';
export const sumsPerLink = 4;

export function createSegmentLinks(runId: string): SegmentLinks {
  const links = new Map<string, Link>();
  let added = 0;
  return {
    get added() {
      return added;
    },
    // Sound: event writers create links with texts as uuid and distinct_id.
    add: ({ uuid, distinct_id: distinctId, properties }, micros, place) => {
      added += 1;
      const known = links.get(uuid);
      if (known === undefined) {
        links.set(uuid, { uuid, distinctId, properties: JSON.stringify(properties), micros, place });
      } else {
        known.micros = micros;
        known.place = place;
      }
    },
    pack: () => pack(links, runMark(runId)),
  };
}

function pack(links: ReadonlyMap<string, Link>, mark: string): PackedLinks {
  const count = links.size;
  const packed = {
    count,
    uuids: new Uint8Array(count * 16),
    keys: new Uint32Array(count * 2),
    micros: new Float64Array(count),
    places: new Float64Array(count),
    sums: new Uint32Array(count * sumsPerLink),
    ends: new Uint32Array(count * 2),
  };
  const texts = Buffer.allocUnsafeSlow(textBytesMax(links, mark.length));
  const uuids = new DataView(packed.uuids.buffer);
  const words = new Uint32Array(4);
  const [name, id, key] = [noWords(), noWords(), noWords()];
  hashText(packedLinkName, name);
  let index = 0;
  let end = 0;
  for (const { uuid, distinctId, properties, micros, place } of links.values()) {
    readUuidWords(uuid, words);
    putUuid(uuids, index * 16, words);
    hashText(distinctId, id);
    hashIdentity(uuid, name, id, key);
    packed.keys[index * 2] = key.low;
    packed.keys[index * 2 + 1] = key.high;
    packed.micros[index] = micros;
    packed.places[index] = place;
    identityWords(uuid, distinctId, micros, words);
    const first = index * sumsPerLink;
    const low = (packed.sums[first] = words[0] as number);
    const high = (packed.sums[first + 1] = words[1] as number);
    contentWords(properties, low, high, words);
    packed.sums[first + 2] = words[0] as number;
    packed.sums[first + 3] = words[1] as number;
    end += texts.write(distinctId, end);
    packed.ends[index * 2] = end;
    // The mark replaces the last bracket.
    end += texts.write(properties, end) - 1;
    end += texts.write(mark, end);
    packed.ends[index * 2 + 1] = end;
    index += 1;
  }
  return { ...packed, texts: texts.subarray(0, end) };
}

/** A UTF-16 unit takes at most three bytes in UTF-8. */
function textBytesMax(links: ReadonlyMap<string, Link>, markChars: number): number {
  let chars = 0;
  for (const { distinctId, properties } of links.values()) chars += distinctId.length + properties.length + markChars;
  return chars * 3;
}

/** The engine stores two little-endian halves. */
function putUuid(uuids: DataView, at: number, words: Uint32Array): void {
  uuids.setUint32(at, words[1] as number, true);
  uuids.setUint32(at + 4, words[0] as number, true);
  uuids.setUint32(at + 8, words[3] as number, true);
  uuids.setUint32(at + 12, words[2] as number, true);
}

function noWords(): { low: number; high: number } {
  return { low: 0, high: 0 };
}
