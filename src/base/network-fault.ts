/** Innermost reason of a failed request, e.g. `ECONNREFUSED`. */
export function networkFault(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

/** Codes of a response that is not TLS: `https://` was used for a port that speaks `http`. */
const notTlsCodes: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);

/** @param fault of `networkFault` */
export function isNotTls(fault: string): boolean {
  return notTlsCodes.has(fault);
}
