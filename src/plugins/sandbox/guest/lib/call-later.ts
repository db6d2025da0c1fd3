/** Provides the callback form of a result: one turn later, with an error as first argument. */
export async function callLater(
  callback: (error: unknown, result?: unknown) => unknown,
  work: () => unknown,
): Promise<void> {
  let outcome: readonly unknown[];
  try {
    await undefined;
    outcome = [null, await work()];
  } catch (error) {
    outcome = [error];
  }
  Reflect.apply(callback, undefined, outcome);
}

export function isCallback(value: unknown): value is (error: unknown, result?: unknown) => unknown {
  return typeof value === 'function';
}
