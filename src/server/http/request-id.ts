import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const sane = /^[\x20-\x7e]{1,128}$/;

/** The caller's `X-Request-Id` when it is up to 128 printable characters, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && sane.test(given) ? given : randomUUID();
}
