/** Thrown by a plugin: trying again later may help. */
export class RetryError extends Error {
  override name = 'RetryError';
}
