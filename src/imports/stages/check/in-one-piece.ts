/** Options of zlib for bytes that unpack to `rawBytes`: into one piece of memory, and never to more. */
export function inOnePiece(rawBytes: number): { readonly chunkSize: number; readonly maxOutputLength: number } {
  const size = Math.max(64, rawBytes);
  // A piece that is full makes zlib get itself another one, even when nothing comes any more.
  return { chunkSize: size + 1, maxOutputLength: size };
}
