/** An error in our own code, never caused by input. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

export function assert(condition: unknown, expectation: string): asserts condition {
  if (!condition) throw new AssertionError(`expected ${expectation}`);
}
