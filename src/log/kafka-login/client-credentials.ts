import { OutboundError, type OutboundFetch, type OutboundResponse } from '../../plugins/outbound/outbound.ts';
import { KafkaTokenError, type TokenSource } from '../kafka-connection/bearer-login.ts';

export interface ClientCredentials {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes with spaces between; an empty string means those of the provider's configuration. */
  readonly scope: string;
}

interface Deps {
  readonly fetch: OutboundFetch;
  /** ms since the epoch. */
  readonly now: () => number;
}

interface Issued {
  readonly token: string;
  /** ms since the epoch. */
  readonly renewAt: number;
  readonly expiresAt: number;
}

/**
 * The client library logs in again after four fifths of a session, which ends with its token. A token is renewed before that, so that
 * the next session is a whole one.
 */
const usedShare = 0.75;

/**
 * Requests tokens from an OAuth provider with the grant of client credentials (RFC 6749, 4.4). All connections share a token until it
 * has to be renewed; if that fails, it is used as long as it is valid.
 */
export function createClientCredentialsTokens(credentials: ClientCredentials, { fetch, now }: Deps): TokenSource {
  let issued: Issued | undefined;
  let requesting: Promise<Issued> | undefined;
  return async () => {
    if (issued !== undefined && now() < issued.renewAt) return issued.token;
    requesting ??= requestToken(credentials, fetch, now).finally(() => (requesting = undefined));
    try {
      issued = await requesting;
    } catch (error) {
      if (issued === undefined || now() >= issued.expiresAt) throw error;
    }
    return issued.token;
  };
}

async function requestToken(
  { tokenUrl, clientId, clientSecret, scope }: ClientCredentials,
  fetch: OutboundFetch,
  now: Deps['now'],
): Promise<Issued> {
  const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64');
  const at = now();
  const answer = await reach(fetch, {
    url: tokenUrl,
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope !== '' && { scope }) }).toString(),
  });
  const { access_token: token, expires_in: expiresIn } = fieldsOf(answer);
  if (answer.status !== 200 || typeof token !== 'string' || token === '') throw refusal(answer);
  const lifeMs = typeof expiresIn === 'number' && expiresIn > 0 ? expiresIn * 1000 : 0;
  return { token, renewAt: at + lifeMs * usedShare, expiresAt: at + lifeMs };
}

async function reach(fetch: OutboundFetch, request: Parameters<OutboundFetch>[0]): Promise<OutboundResponse> {
  try {
    return await fetch(request);
  } catch (cause) {
    if (!(cause instanceof OutboundError)) throw cause;
    throw new KafkaTokenError(`no token from MILLRACE_KAFKA_OAUTH_TOKEN_URL: ${cause.message}`, !cause.retry, {
      cause,
    });
  }
}

/** As in a form, which the protocol requires of both parts (RFC 6749, 2.3.1). */
function formEncoded(text: string): string {
  return new URLSearchParams({ t: text }).toString().slice(2);
}

/** Returns no fields for an answer that is not a JSON object. */
function fieldsOf({ body }: OutboundResponse): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

/** Only error codes of the protocol are repeated: other text may contain secrets. */
function refusal(answer: OutboundResponse): KafkaTokenError {
  const { error } = fieldsOf(answer);
  const code = typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? ` (${error})` : '';
  const got = `expected a token from MILLRACE_KAFKA_OAUTH_TOKEN_URL, got status ${answer.status}${code}`;
  if (answer.status >= 500 || answer.status === 429) return new KafkaTokenError(got, false);
  const advice =
    error === 'invalid_scope'
      ? 'check MILLRACE_KAFKA_OAUTH_SCOPE'
      : error === 'invalid_client' || answer.status === 401
        ? 'check MILLRACE_KAFKA_USER and MILLRACE_KAFKA_PASSWORD, the client id and secret'
        : 'check the address, and whether the provider permits the client the grant client_credentials';
  return new KafkaTokenError(`${got}: ${advice}`, true);
}
