/** A broken promise of our own code, never a fault of the input. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

export function assert(condition: unknown, expectation: string): asserts condition {
  if (!condition) throw new AssertionError(`expected ${expectation}`);
}

/** Closes a switch over a union: the compiler complains when a member is missing. */
export function unreachable(value: never): never {
  throw new AssertionError(`expected every case to be handled, got: ${JSON.stringify(value)}`);
}
