/** A broken promise of our own code, never a fault of the input. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

export function assert(condition: unknown, expectation: string): asserts condition {
  if (!condition) throw new AssertionError(`expected ${expectation}`);
}
