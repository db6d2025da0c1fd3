import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Returns an unsecured token (RFC 7515, A.5), which brokers of tests accept until it expires. */
export function unsecuredToken(lifeSeconds: number): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: 'millrace', iat: now - 60, exp: now + lifeSeconds };
  return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export interface TokenEndpoint extends AsyncDisposable {
  readonly url: string;
  /** Of the tokens issued from now on; may be negative. */
  lifeSeconds: number;
}

/** A token endpoint on loopback that issues unsecured tokens to one client. */
export async function startTokenEndpoint(clientId: string, clientSecret: string): Promise<TokenEndpoint> {
  const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isClient = request.headers.authorization === `Basic ${basic}`;
      const { lifeSeconds } = endpoint;
      const issued = { access_token: unsecuredToken(lifeSeconds), token_type: 'Bearer', expires_in: lifeSeconds };
      response.writeHead(isClient ? 200 : 401).end(JSON.stringify(isClient ? issued : { error: 'invalid_client' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint: TokenEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    lifeSeconds: 600,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return endpoint;
}
