import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import type { DatabasePlace } from './database-place.ts';

/**
 * Temporary: too many connections, shutting down, out of memory, a deadlock, a changed table, an interrupted query, a killed
 * connection. https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html, https://mariadb.com/kb/en/mariadb-error-codes/
 */
const passing: ReadonlySet<number> = new Set([
  1021, 1037, 1040, 1041, 1053, 1135, 1152, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1317, 1412, 1927, 4031,
]);
/** The server's own limit for the time of a statement: MariaDB's, MySQL's. */
const timedOut: ReadonlySet<number> = new Set([1969, 3024]);
const interrupted = 1317;
/** Of the server; smaller numbers are the operating system's. */
const firstServerError = 1000;
const advice = 'an index on the cursor column helps';

/** Converts an error of the client to SourceError or SourceWaitError, without the password. */
export function mysqlError(error: unknown, { password, host }: DatabasePlace): unknown {
  if (error instanceof SourceError || error instanceof SourceWaitError) return error;
  if (error instanceof OutboundError && !error.retry) {
    return new SourceError(`MySQL at ${host} cannot be reached: ${error.message}`, { cause: error });
  }
  const raw = error instanceof Error ? error.message || error.name : String(error);
  const message = password === '' ? raw : raw.replaceAll(password, '***');
  const number = numberOf(error);
  if (number !== undefined && timedOut.has(number)) {
    const text = `MySQL ended the query at its time limit: ${message} (${number}); ${advice}`;
    return new SourceWaitError(text, { unlimited: false, cause: error });
  }
  if (number !== undefined && passing.has(number)) {
    return new SourceWaitError(`MySQL responded: ${message} (${number})`, { unlimited: true, cause: error });
  }
  if (number !== undefined) return new SourceError(`MySQL responded: ${message} (${number})`, { cause: error });
  if (/certificate|self.signed|secure connection|altname/i.test(message)) {
    return new SourceError(`no safe connection to MySQL: ${message}; see the setting "tls"`, { cause: error });
  }
  if (/auth/i.test(codeOf(error))) {
    return new SourceError(`MySQL cannot sign in this user: ${message}`, { cause: error });
  }
  return new SourceWaitError(`the connection to MySQL broke: ${message}`, { unlimited: true, cause: error });
}

export function tooSlow(): SourceWaitError {
  return new SourceWaitError(`MySQL did not answer within 30 minutes; ${advice}`, { unlimited: false });
}

/** Returns whether a query was ended by `kill query`. */
export function isInterruption(error: unknown): boolean {
  return numberOf(error) === interrupted;
}

function numberOf(error: unknown): number | undefined {
  const number = error instanceof Error && 'errno' in error ? error.errno : undefined;
  return typeof number === 'number' && number >= firstServerError ? number : undefined;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
