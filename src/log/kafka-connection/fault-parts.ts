/** What errors of the client library are made of. */

/** OpenSSL's names for certificates that cannot be trusted. */
const certificateFaults: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** The error, what it was made of, and what caused each. */
export function* errorChain(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const each of error.errors) yield* errorChain(each);
  yield* errorChain(error.cause);
}

/** Kafka's own name of what went wrong; empty: it is not an answer of a broker. */
export function brokerAnswer(error: Error): string {
  return 'apiId' in error && typeof error.apiId === 'string' ? error.apiId : '';
}

/** Empty: it has none. */
export function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

export function isCertificateFault(error: Error): boolean {
  return certificateFaults.has(codeOf(error));
}

/** What the library takes for a mistake of its user: TLS where there is none, or the other way round. */
export function isUserFault(error: Error): boolean {
  return codeOf(error) === 'PLT_KFK_USER';
}

/** Of the library, of a read beyond what an answer holds, and of connections.ts. */
const brokenAnswers: ReadonlySet<string> = new Set([
  'PLT_KFK_UNEXPECTED_CORRELATION_ID',
  'OUT_OF_BOUNDS',
  'ERR_OUT_OF_RANGE',
  'ERR_BUFFER_OUT_OF_BOUNDS',
  'KAFKA_FRAME',
]);

/** What is no answer to the question: a lying broker, or something else than one. Not what the network or an election brings. */
export function isBrokenAnswer(error: Error): boolean {
  return brokenAnswers.has(codeOf(error));
}

/** While logging in. */
export function isLoginFault(error: Error): boolean {
  return codeOf(error) === 'PLT_KFK_AUTHENTICATION';
}
