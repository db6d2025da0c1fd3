/** Writes pieces one behind the other into memory that is known to have room. */
export interface ByteWriter {
  bytes: Buffer;
  at: number;
}

/** From here on the copy of the platform is faster than a loop. */
const longBytes = 48;

export function putBytes(writer: ByteWriter, source: Buffer): void {
  putSpan(writer, source, 0, source.length);
}

export function putSpan(writer: ByteWriter, source: Buffer, from: number, to: number): void {
  const { bytes } = writer;
  let { at } = writer;
  if (to - from >= longBytes) {
    source.copy(bytes, at, from, to);
    writer.at = at + to - from;
    return;
  }
  for (let next = from; next < to; next += 1) bytes[at++] = source[next] as number;
  writer.at = at;
}

export function putByte(writer: ByteWriter, byte: number): void {
  writer.bytes[writer.at] = byte;
  writer.at += 1;
}
