/** Thrown by a plugin when a later retry may succeed. */
export class RetryError extends Error {
  override name = 'RetryError';
}
