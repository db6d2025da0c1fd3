import { createHmac } from 'node:crypto';
import type { OutboundFetch } from '../../../plugins/outbound/outbound.ts';
import { CarrierError, type Carrier } from './carrier.ts';
import { postJson } from './post.ts';

/**
 * Posts the notification as signed JSON: a receiver with the key can verify that it comes from here, is intact and is not a
 * replay. docs/guides/notices.md describes how.
 */
export function createWebhook(fetch: OutboundFetch, now: () => number): Carrier {
  return async ({ id, notice, url, address }) => {
    if (address.url === undefined || address.secret === undefined) {
      throw new CarrierError('expected a webhook with a URL and a secret, got one without', { retry: false });
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

/** Returns the HMAC-SHA256 in hex. `timestamp` is in seconds since the epoch. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}
