/** Analyses errors of the client library. */

/** OpenSSL's names for certificates that cannot be trusted. */
const certificateFaults: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Yields the error, its parts, and the causes of each. */
export function* errorChain(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const each of error.errors) yield* errorChain(each);
  yield* errorChain(error.cause);
}

/** Returns Kafka's name of the error; empty if it is not a response of a broker. */
export function brokerAnswer(error: Error): string {
  return 'apiId' in error && typeof error.apiId === 'string' ? error.apiId : '';
}

/** Returns the code of an error; empty if it has none. */
export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function isCertificateFault(error: Error): boolean {
  return certificateFaults.has(codeOf(error));
}

/** Returns whether the library blames its user: TLS on a plain port, or the reverse. */
export function isUserFault(error: Error): boolean {
  return codeOf(error) === 'PLT_KFK_USER';
}

/** Names of errors of the library, of reads beyond a response, and of connections.ts. */
const brokenAnswers: ReadonlySet<string> = new Set([
  'PLT_KFK_UNEXPECTED_CORRELATION_ID',
  'OUT_OF_BOUNDS',
  'ERR_OUT_OF_RANGE',
  'ERR_BUFFER_OUT_OF_BOUNDS',
  'KAFKA_FRAME',
]);

/** Returns whether a response is invalid: a faulty broker, or not a broker at all. Excludes faults of networks and elections. */
export function isBrokenAnswer(error: Error): boolean {
  return brokenAnswers.has(codeOf(error));
}

/** Returns whether the error happened during login. */
export function isLoginFault(error: Error): boolean {
  return codeOf(error) === 'PLT_KFK_AUTHENTICATION';
}
