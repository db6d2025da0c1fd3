import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { createOutboundFetch } from '../../plugins/outbound/safe-fetch.ts';
import { createClientCredentialsTokens, type ClientCredentials } from './client-credentials.ts';

/** With every kind of character that the protocol allows. */
const client = { id: 'millrace "a" +:%41&=', secret: 'secret:of/the+client %41 "a"&=~ 0123456789012345' };
const lifeSeconds = 100;
const fetch = createOutboundFetch({ allow: parseAllowList('127.0.0.0/8'), timeoutMs: 10_000, bytesMax: 100_000 });
afterAll(() => fetch.close());

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('tokens of an OpenID Connect provider', () => {
  let server: Server;
  let tokenUrl: string;
  beforeAll(async () => {
    server = createServer();
    const origin = await listen(server);
    const provider = new Provider(origin, {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          scope: 'kafka',
        },
      ],
      scopes: ['kafka', 'storage'],
      features: { clientCredentials: { enabled: true } },
      ttl: { ClientCredentials: lifeSeconds },
    });
    server.on('request', provider.callback());
    tokenUrl = `${origin}/token`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const tokensFor = (more: Partial<ClientCredentials> = {}) =>
    createClientCredentialsTokens(
      { tokenUrl, clientId: client.id, clientSecret: client.secret, scope: 'kafka', ...more },
      { fetch, now: Date.now },
    );

  it('are issued to an id and a secret with any characters, for the scope', async () => {
    expect(await tokensFor()()).toMatch(/^[\w-]{20,}$/);
  });

  it.each<[Partial<ClientCredentials>, RegExp]>([
    [
      { clientSecret: 'another-secret' },
      /got status 401 \(invalid_client\): check MILLRACE_KAFKA_USER and MILLRACE_KAFKA_PASSWORD/,
    ],
    [{ scope: 'kafka storage' }, /got status 400 \(invalid_scope\): check MILLRACE_KAFKA_OAUTH_SCOPE/],
  ])('%o is refused with the setting to change, without the secret', async (more, sentence) => {
    const error: Error = await tokensFor(more)().then(
      () => new Error('a token'),
      (refused: Error) => refused,
    );
    expect(error).toMatchObject({ name: 'KafkaTokenError', isFinal: true, message: expect.stringMatching(sentence) });
    expect(String(error.stack)).not.toContain('secret-');
    expect(error.message).not.toContain(client.secret);
  });
});

describe('tokens of an endpoint', () => {
  let server: Server;
  let tokenUrl: string;
  let answer: () => { readonly status: number; readonly body: string };
  let requests = 0;
  let time = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests += 1;
      request.resume().on('end', () => {
        const { status, body } = answer();
        response.writeHead(status).end(body);
      });
    });
    tokenUrl = `${await listen(server)}/oauth2/token`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    requests = 0;
    time = Date.UTC(2026, 10, 28);
    answer = () => ({ status: 200, body: JSON.stringify({ access_token: `token-${requests}`, expires_in: 100 }) });
  });

  const tokensNow = () =>
    createClientCredentialsTokens(
      { tokenUrl, clientId: 'id', clientSecret: 'hunter2', scope: '' },
      { fetch, now: () => time },
    );

  it('are shared by concurrent logins, and renewed after three quarters of their life', async () => {
    const tokens = tokensNow();
    expect(await Promise.all([tokens(), tokens(), tokens()])).toEqual(['token-1', 'token-1', 'token-1']);
    time += 74_999;
    expect(await tokens()).toBe('token-1');
    time += 1;
    expect(await tokens()).toBe('token-2');
    expect(requests).toBe(2);
  });

  it('are used until they expire while the endpoint fails; then the failure is reported', async () => {
    const tokens = tokensNow();
    await tokens();
    answer = () => ({ status: 503, body: 'hunter2' });
    time += 99_999;
    expect(await tokens()).toBe('token-1');
    time += 1;
    await expect(tokens()).rejects.toMatchObject({ isFinal: false, message: expect.stringMatching(/got status 503$/) });
    answer = () => ({ status: 200, body: JSON.stringify({ access_token: 'token-again', expires_in: 100 }) });
    expect(await tokens()).toBe('token-again');
  });

  it('without a stated life are requested for every login', async () => {
    answer = () => ({ status: 200, body: JSON.stringify({ access_token: `token-${requests}` }) });
    const tokens = tokensNow();
    expect([await tokens(), await tokens()]).toEqual(['token-1', 'token-2']);
  });

  it.each([
    [200, 'not JSON'],
    [200, '{"access_token":7}'],
    [200, 'null'],
    [404, '<html>hunter2</html>'],
    [400, '{"error":"Hunter2 <script>"}'],
  ])('an answer that is no token is refused, and not repeated: %i %s', async (status, body) => {
    answer = () => ({ status, body });
    await expect(tokensNow()()).rejects.toMatchObject({
      isFinal: true,
      message: `expected a token from MILLRACE_KAFKA_OAUTH_TOKEN_URL, got status ${status}: check the address, and whether the provider permits the client the grant client_credentials`,
    });
  });

  it('an endpoint that cannot be reached is reported, and may be reached later', async () => {
    const tokens = createClientCredentialsTokens(
      { tokenUrl: 'http://127.0.0.1:9/token', clientId: 'id', clientSecret: 'hunter2', scope: '' },
      { fetch, now: Date.now },
    );
    await expect(tokens()).rejects.toMatchObject({
      isFinal: false,
      message: expect.stringMatching(/^no token from MILLRACE_KAFKA_OAUTH_TOKEN_URL: .*127\.0\.0\.1:9.*/),
    });
  });
});
