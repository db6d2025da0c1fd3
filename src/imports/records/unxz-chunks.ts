import xz from 'xz-decompress';
import { SourceError, SourceWaitError } from '../source.ts';
import { takeTurns } from './decompress.ts';

/**
 * Decompresses an xz file of any number of streams. The library's own stream reads one file at a time in the whole process, so an
 * archive within another would deadlock: only its decoder is used, one instance per file.
 * @throws SourceWaitError if it is damaged or ends early, SourceError if it uses options that the decoder does not support
 */
export function unxzChunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  return takeTurns(decodeFile(chunks, name));
}

async function* decodeFile(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  const decode = await newDecoder();
  let at = 0;
  for await (const chunk of chunks) {
    for (let rest = chunk; rest.length > 0;) {
      const { used, answer }: Decoded = yield* decode(rest);
      at += used;
      rest = rest.subarray(used);
      if (answer !== well) throw refusal(answer, name, at);
    }
  }
  const { answer } = yield* decode(Buffer.alloc(0));
  if (answer !== fileEnd) throw refusal(starved, name, at);
}

/** The library's interface to xz-embedded. */
interface XzDecoder {
  readonly memory: { readonly buffer: ArrayBuffer };
  create_context(): number;
  /** Zero bytes end the input. */
  supply_input(context: number, bytes: number): void;
  get_next_output(context: number): number;
}

/** Result codes of xz-embedded. */
const well = 0;
const fileEnd = 1;
const unsupported: ReadonlyMap<number, string> = new Map([
  [3, 'a dictionary that does not fit into memory'],
  [4, 'a dictionary that does not fit into memory'],
  [6, 'a filter other than LZMA2, or a checksum other than CRC32 and CRC64'],
]);
const starved = 8;

interface Decoded {
  /** Number of input bytes consumed. */
  readonly used: number;
  readonly answer: number;
}

/** Decodes a part of the input; all of its output has been yielded when it returns. */
type Decode = (input: Buffer) => Generator<Buffer, Decoded>;

/** The decoder's descriptor of its buffers, in words. */
const slot = { bufferBytes: 0, input: 1, inputAt: 2, inputBytes: 3, output: 4, outputBytes: 5 } as const;
const slots = 6;

async function newDecoder(): Promise<Decode> {
  // Sound: these are fields of the class in the exact version pinned by package.json; the tests read every form through them.
  const library = xz.XzReadableStream as unknown as {
    _getModuleInstance(): Promise<void>;
    readonly _moduleInstance: { readonly exports: XzDecoder };
  };
  await library._getModuleInstance();
  const decoder = library._moduleInstance.exports;
  const context = decoder.create_context();
  // A new view each time: the memory moves when it grows.
  const words = (): Uint32Array => new Uint32Array(decoder.memory.buffer, context, slots);
  const read = (name: keyof typeof slot): number => words()[slot[name]] ?? 0;
  return function* decode(input) {
    const piece = input.subarray(0, read('bufferBytes'));
    new Uint8Array(decoder.memory.buffer, read('input'), piece.length).set(piece);
    decoder.supply_input(context, piece.length);
    for (;;) {
      const answer = decoder.get_next_output(context);
      const output = Buffer.from(new Uint8Array(decoder.memory.buffer, read('output'), read('outputBytes')));
      words()[slot.outputBytes] = 0;
      if (output.length > 0) yield output;
      const isUsed = read('inputAt') === read('inputBytes') && output.length < read('bufferBytes');
      if (answer !== well || isUsed) return { used: read('inputAt'), answer };
    }
  };
}

function refusal(answer: number, name: string, at: number): Error {
  const unknown = unsupported.get(answer);
  if (unknown !== undefined) {
    return new SourceError(`the xz data of ${name} cannot be read: it has ${unknown}; decompress it first`);
  }
  const what = answer === starved ? 'ends too early' : 'is damaged';
  return new SourceWaitError(`the xz data of ${name} ${what} at byte ${at}: fetch or export the file again`, {
    unlimited: false,
  });
}
