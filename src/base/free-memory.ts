/**
 * Below this size the garbage collector is more efficient. Batches of a hundred events are above: their memory is outside of
 * the collector's heap, and waiting memory makes it run full collections, which took a quarter of the time of such a batch.
 */
const worthwhileBytes = 8 * 1024;

/**
 * Frees the memory behind a large view immediately. Left to the garbage collector, a few hundred bodies per second cause
 * constant full collections, which cost more than reading the bodies. The view and all other views on the same memory must not
 * be used afterwards: they become empty. Small buffers share a pool and are kept.
 */
export function freeMemory(view: ArrayBufferView): void {
  const { buffer, byteLength } = view;
  if (byteLength >= worthwhileBytes && isOwn(buffer)) buffer.transfer(0);
}

/** Returns a copy if the memory behind the view is much larger and not shared, and frees that memory. */
export function compacted(view: Buffer): Buffer {
  const { buffer } = view;
  if (buffer.byteLength < worthwhileBytes || !isOwn(buffer) || view.byteLength * 2 > buffer.byteLength) return view;
  const copy = Buffer.from(view);
  buffer.transfer(0);
  return copy;
}

/** Whether the memory behind a view is large enough to move to another thread, and not shared. */
export function isMovable<View extends ArrayBufferView>(view: View): view is View & { readonly buffer: ArrayBuffer } {
  const { buffer } = view;
  return buffer.byteLength >= worthwhileBytes && isOwn(buffer);
}

/** Node's pool consists of buffers of one size. */
function isOwn(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && buffer.byteLength !== Buffer.poolSize;
}

/** Bytes from another thread, where a Buffer becomes a plain array. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
