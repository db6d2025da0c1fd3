import type { Writable } from 'node:stream';

/**
 * A frame between two processes of this program over a socket: u32 length of the rest, u32 length of the header, header (JSON),
 * body (text or bytes). Little-endian.
 */
export interface Frame<Header> {
  readonly header: Header;
  readonly body: Buffer;
}

/** Event batches and query results are far below this. */
export const frameBytesMax = 512 * 1024 * 1024;
const longestAscii = frameBytesMax / 4;

/** @throws RangeError if it exceeds the maximum frame size */
export function encodeFrame(header: object, body: string | Uint8Array = ''): Buffer {
  const head = JSON.stringify(header);
  const headLength = Buffer.byteLength(head);
  const bodyLength = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  const length = 4 + headLength + bodyLength;
  if (length > frameBytesMax) throw new RangeError(`expected a frame of at most ${frameBytesMax} bytes, got ${length}`);
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(headLength, 4);
  frame.write(head, 8);
  if (typeof body === 'string') frame.write(body, 8 + headLength);
  else frame.set(body, 8 + headLength);
  return frame;
}

/** Bodies of at least this length are written separately. */
const longBody = 4096;

/**
 * Sends a frame. Long texts are passed to the socket as strings: buffers would count as heap memory and trigger frequent
 * collections. @throws RangeError if it exceeds the maximum frame size
 */
export function writeFrame(socket: Writable, header: object, body = ''): void {
  if (body.length < longBody || body.length > longestAscii || Buffer.byteLength(body) !== body.length) {
    socket.write(encodeFrame(header, body));
    return;
  }
  // Head of a frame whose body follows.
  const head = encodeFrame(header);
  head.writeUInt32LE(head.length - 4 + body.length, 0);
  socket.cork();
  socket.write(head);
  socket.write(body, 'latin1');
  socket.uncork();
}

/** Assembles frames from received bytes. @throws RangeError if the peer does not send frames */
export class FrameReader<Header> {
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted = 4;

  push(chunk: Buffer): Frame<Header>[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const frames: Frame<Header>[] = [];
    while (this.#size >= this.#wanted) {
      const whole = this.#joined();
      const length = whole.readUInt32LE(0);
      if (length < 4 || length > frameBytesMax) {
        throw new RangeError(`expected a frame of 4 to ${frameBytesMax} bytes, got ${length}`);
      }
      this.#wanted = 4 + length;
      if (this.#size < this.#wanted) break;
      frames.push(decodeFrame<Header>(whole.subarray(0, this.#wanted)));
      this.#chunks = [whole.subarray(this.#wanted)];
      this.#size -= this.#wanted;
      this.#wanted = 4;
    }
    return frames;
  }

  #joined(): Buffer {
    const first = this.#chunks[0];
    const whole = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }
}

function decodeFrame<Header>(frame: Buffer): Frame<Header> {
  const headLength = frame.readUInt32LE(4);
  // Both ends are the same version of this program, so the header has the type given to encodeFrame.
  const header = JSON.parse(frame.toString('utf8', 8, 8 + headLength)) as Header;
  return { header, body: frame.subarray(8 + headLength) };
}
