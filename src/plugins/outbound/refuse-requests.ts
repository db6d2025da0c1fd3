import { OutboundError, type OutboundFetch } from './outbound.ts';

/** Replaces the requests and connections of a plugin that is tested without them. */

export const refuseRequest: OutboundFetch = async ({ method = 'GET', url }) => {
  // The path may hold a secret.
  throw refused(`${method} ${URL.parse(url)?.origin ?? 'request'}`);
};

export async function refuseConnection(host: string, port: number): Promise<never> {
  throw refused(`connection to ${host}:${port}`);
}

function refused(what: string): OutboundError {
  return new OutboundError('request', `${what}: this test sends no requests; allow requests to send them`);
}
