import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Settings } from '../config/settings.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { RouteRequest } from './route-request.ts';

type HostOf = Pick<RouteRequest, 'headers' | 'host'>;

/** A name or a literal address, and a port. */
const hostForm = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;
const everywhere = new Set(['0.0.0.0', '::', '']);

/**
 * Throws ApiError when a request is for a host that is not this service: another site can point its name at this address (DNS
 * rebinding), and would then share an origin with us. Literal addresses cannot be pointed elsewhere: a service that listens on all
 * addresses accepts each of them.
 *
 * Applies to API and pages, which act on a key or a cookie and print the host. Capture uses the project key in the body and answers
 * under any name: events must not be lost because a proxy sends another host.
 */
export function createHostCheck(
  settings: Pick<Settings, 'host' | 'siteUrl' | 'allowedHosts'>,
): (request: HostOf) => void {
  const listed = settings.allowedHosts.split(',').map((name) => name.trim().toLowerCase());
  const site = URL.canParse(settings.siteUrl) ? new URL(settings.siteUrl).hostname : '';
  const own = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const known = new Set([...listed, site, own.toLowerCase(), 'localhost', '[::1]']);
  const isKnown = (name: string): boolean =>
    known.has(name) ||
    known.has('*') ||
    name.endsWith('.localhost') ||
    (isIP(name) === 4 && name.startsWith('127.')) ||
    (everywhere.has(settings.host) && isIP(name.replaceAll(/[[\]]/g, '')) !== 0);
  /** Recently accepted hosts: clients use the same name again. */
  const letIn = new LRUCache<string, true>({ max: 100 });
  return (request) => {
    // Behind a trusted proxy, the second is the host that the client named.
    for (const host of hostsOf(request)) {
      if (letIn.has(host)) continue;
      const name = hostForm.exec(host)?.[1]?.toLowerCase();
      if (name !== undefined && isKnown(name)) {
        letIn.set(host, true);
        continue;
      }
      throw new ApiError(
        'invalid_host',
        `Expected a host that is this service, got: ${JSON.stringify(host.slice(0, 100))}. ` +
          'Set MILLRACE_SITE_URL to its public address, or list more names in MILLRACE_ALLOWED_HOSTS.',
      );
    }
  };
}

function hostsOf({ headers, host }: HostOf): readonly string[] {
  const { host: sent = '' } = headers;
  return sent === host ? [sent] : [sent, host];
}

/** Returns false for two Host headers, which a proxy may read differently, and for HTTP before 1.0, which has none. */
export function isHostClear({ rawHeaders, httpVersionMajor }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts <= 1 && httpVersionMajor > 0;
}

/** @throws ApiError parse_error */
export function refuseUnclearHost({ raw }: FastifyRequest): void {
  if (isHostClear(raw)) return;
  throw new ApiError('parse_error', 'The request is not valid HTTP: expected HTTP/1 with one Host header.');
}
