/** Below this the garbage collector is the better judge. */
const worthwhileBytes = 64 * 1024;

/**
 * Gives the memory behind a large view back at once. Left to the garbage collector, a few hundred bodies a second make it
 * run full collections all the time, which costs more than reading the bodies. Nobody may use the view, or any other
 * view on the same memory, afterwards: they all become empty. Small buffers share a pool with strangers and stay.
 */
export function freeMemory(view: ArrayBufferView): void {
  const { buffer, byteLength } = view;
  if (byteLength < worthwhileBytes || byteLength <= Buffer.poolSize) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** A copy of what a view shows, when the memory behind it is much larger and nobody else's; that memory is given back at once. */
export function compacted(view: Buffer): Buffer {
  const { buffer } = view;
  const isWorthwhile = buffer.byteLength >= worthwhileBytes && buffer.byteLength > Buffer.poolSize;
  if (!isWorthwhile || !(buffer instanceof ArrayBuffer) || view.byteLength * 2 > buffer.byteLength) return view;
  const copy = Buffer.from(view);
  buffer.transfer(0);
  return copy;
}
