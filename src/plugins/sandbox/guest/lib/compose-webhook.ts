import type { GuestFetch } from './fetch.ts';
import { RetryError } from './retry-error.ts';

interface Webhook {
  readonly url: string;
  readonly body: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

/** The event that onEvent receives. */
interface GivenEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly team_id: number;
  readonly timestamp: string;
  readonly properties: Record<string, unknown>;
}

type Compose = (event: unknown, meta: unknown) => unknown;

/**
 * Wraps `composeWebhook` as an `onEvent` that sends the composed request, if any. A status that means "later" (429, 5xx), or no
 * response, is a RetryError, any other non-2xx status an Error.
 */
export function sendingWebhooks(compose: Compose, fetch: GuestFetch): (event: unknown, meta: unknown) => Promise<void> {
  return async (given, meta) => {
    const { uuid, event, distinct_id, team_id, timestamp, properties } = given as GivenEvent;
    const composed = await compose(
      { uuid, event, distinct_id, team_id, timestamp: new Date(timestamp), properties },
      meta,
    );
    if (!composed) return;
    const { url, body, headers = { 'Content-Type': 'application/json' }, method = 'POST' } = composed as Webhook;
    if (typeof url !== 'string') throw new TypeError(`composeWebhook: expected a url as text, got ${typeof url}`);
    let status: number;
    try {
      status = (await fetch(url, { method, headers, body })).status;
    } catch (error) {
      throw new RetryError(`composeWebhook: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (status >= 200 && status < 300) return;
    const message = `composeWebhook: expected the receiver to answer 2xx, got ${status}`;
    throw status === 429 || status >= 500 ? new RetryError(message) : new Error(message);
  };
}
