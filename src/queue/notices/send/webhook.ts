import { createHmac } from 'node:crypto';
import type { OutboundFetch } from '../../../plugins/outbound/outbound.ts';
import { CarrierError, type Carrier } from './carrier.ts';
import { postJson } from './post.ts';

/**
 * Posts the notice as JSON, signed: who has the key can tell that it comes from here, is whole, and is not an old one that
 * somebody has sent again. docs/guides/notices.md says how to verify it.
 */
export function createWebhook(fetch: OutboundFetch, now: () => number): Carrier {
  return async ({ id, notice, url, address }) => {
    if (address.url === undefined || address.secret === undefined) {
      throw new CarrierError('expected a webhook with an address and a secret, got one without', { retry: false });
    }
    const body = JSON.stringify({ id, ...notice, url: url ?? null });
    const timestamp = String(Math.floor(now() / 1000));
    await postJson(fetch, address.url, body, {
      'millrace-notice-id': id,
      'millrace-timestamp': timestamp,
      'millrace-signature': `v1=${signatureOf(address.secret, timestamp, body)}`,
    });
  };
}

/** HMAC-SHA256 in hex. `timestamp`: seconds since the epoch. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}
