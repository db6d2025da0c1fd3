/**
 * Below this the garbage collector is the better judge. Batches of a hundred events are above: their memory lies outside of the
 * collector's heap, and what waits there makes it run full collections, which took a quarter of the time of such a batch.
 */
const worthwhileBytes = 8 * 1024;

/**
 * Gives the memory behind a large view back at once. Left to the garbage collector, a few hundred bodies a second make it
 * run full collections all the time, which costs more than reading the bodies. Nobody may use the view, or any other
 * view on the same memory, afterwards: they all become empty. Small buffers share a pool with strangers and stay.
 */
export function freeMemory(view: ArrayBufferView): void {
  const { buffer, byteLength } = view;
  if (byteLength >= worthwhileBytes && isOwn(buffer)) buffer.transfer(0);
}

/** A copy of what a view shows, when the memory behind it is much larger and nobody else's; that memory is given back at once. */
export function compacted(view: Buffer): Buffer {
  const { buffer } = view;
  if (buffer.byteLength < worthwhileBytes || !isOwn(buffer) || view.byteLength * 2 > buffer.byteLength) return view;
  const copy = Buffer.from(view);
  buffer.transfer(0);
  return copy;
}

/** Whether the memory behind a view is large enough to move to another thread, and nobody else's. */
export function isMovable<View extends ArrayBufferView>(view: View): view is View & { readonly buffer: ArrayBuffer } {
  const { buffer } = view;
  return buffer.byteLength >= worthwhileBytes && isOwn(buffer);
}

/** Node's pool is made of pieces of one size. */
function isOwn(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && buffer.byteLength !== Buffer.poolSize;
}

/** Bytes that came from another thread, where a Buffer becomes a plain array. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
