import type { QueryParam } from './eventstore.ts';

/**
 * Frames between the clients of the embedded engine and its process, over a UNIX domain socket:
 * u32 length of what follows, u32 length of the header, header (JSON), body. Little-endian.
 */
export type StoreRequest =
  /** `file`: name of a spool file. */
  | {
      readonly id: number;
      readonly kind: 'insert';
      readonly file: string;
      readonly rows: number;
      readonly token: string;
    }
  | { readonly id: number; readonly kind: 'query'; readonly sql: string; readonly params: Record<string, WireParam> }
  | { readonly id: number; readonly kind: 'health' };

/** A 64-bit integer travels as text in an object of its own. */
export type WireParam = Exclude<QueryParam, bigint> | { readonly bigint: string };

/** The body of a successful answer: JSON lines for a query. */
export type StoreResponse =
  | { readonly id: number; readonly ok: true }
  | { readonly id: number; readonly ok: false; readonly message: string };

export interface Frame<Header> {
  readonly header: Header;
  readonly body: Buffer;
}

export const frameBytesMax = 512 * 1024 * 1024;
const noBody = Buffer.alloc(0);

export function encodeFrame(header: StoreRequest | StoreResponse, body: Uint8Array = noBody): Buffer {
  const headerBytes = Buffer.from(JSON.stringify(header));
  const frame = Buffer.allocUnsafe(8 + headerBytes.length + body.length);
  frame.writeUInt32LE(4 + headerBytes.length + body.length, 0);
  frame.writeUInt32LE(headerBytes.length, 4);
  headerBytes.copy(frame, 8);
  frame.set(body, 8 + headerBytes.length);
  return frame;
}

/** Takes the bytes of a socket as they come and gives whole frames. Throws when the peer does not speak frames. */
export class FrameReader<Header> {
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted = 4;

  push(chunk: Buffer): Frame<Header>[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: Frame<Header>[] = [];
    while (this.#size >= this.#wanted) {
      const whole = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
      const length = whole.readUInt32LE(0);
      if (length < 4 || length > frameBytesMax) {
        throw new RangeError(`expected a frame of 4 to ${frameBytesMax} bytes, got ${length}`);
      }
      this.#chunks = [whole];
      this.#wanted = 4 + length;
      if (this.#size < this.#wanted) break;
      frames.push(decodeFrame<Header>(whole.subarray(0, this.#wanted)));
      this.#chunks = [whole.subarray(this.#wanted)];
      this.#size -= this.#wanted;
      this.#wanted = 4;
    }
    return frames;
  }
}

function decodeFrame<Header>(frame: Buffer): Frame<Header> {
  const headerLength = frame.readUInt32LE(4);
  // Both ends are this program in the same version, so the header has the form that encodeFrame was given.
  const header = JSON.parse(frame.toString('utf8', 8, 8 + headerLength)) as Header;
  return { header, body: frame.subarray(8 + headerLength) };
}
