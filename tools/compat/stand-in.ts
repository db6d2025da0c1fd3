import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { lookup } from 'node:dns/promises';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { redshiftHost, standInHosts } from './stand-in-answers.ts';

/** A server that answers in the name of the services that plugins call, on 127.0.0.1, ports 80 and 443. */
export interface StandIn extends AsyncDisposable {
  /** Path of the certificate that signed the stand-in's. */
  readonly caFile: string;
  /** PEM; good for the database server's name, too. */
  readonly key: string;
  readonly cert: string;
  /** Requests so far, by host. */
  readonly requests: ReadonlyMap<string, number>;
}

/** Lines for /etc/hosts. */
export function hostsLines(): string[] {
  return [...standInHosts.keys(), redshiftHost].map((host) => `127.0.0.1 ${host}`);
}

/** Makes certificates in `directory` with openssl. Throws when a name does not lead here, or a port is taken. */
export async function startStandIn(directory: string): Promise<StandIn> {
  await refuseStrangers();
  const { caFile, key, cert } = await makeCertificates(directory);
  const requests = new Map<string, number>();
  const listener = answering(requests);
  const servers = [createServer(listener).listen(80, '127.0.0.1')];
  const secure = createSecureServer({ key, cert }, listener).listen(443, '127.0.0.1');
  await Promise.all(
    [...servers, secure].map(
      (server) =>
        new Promise<void>((resolve, reject) => {
          server.once('listening', resolve).once('error', reject);
        }),
    ),
  );
  return {
    caFile,
    key,
    cert,
    requests,
    async [Symbol.asyncDispose]() {
      for (const server of [...servers, secure]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

/** Nothing of a trial may reach the real services. */
async function refuseStrangers(): Promise<void> {
  for (const host of [...standInHosts.keys(), redshiftHost]) {
    const { address } = await lookup(host).catch(() => ({ address: 'no address' }));
    if (address === '127.0.0.1') continue;
    throw new Error(`expected ${host} to lead to 127.0.0.1, got: ${address}; put what --hosts prints into /etc/hosts`);
  }
}

function answering(requests: Map<string, number>): RequestListener {
  return (request, response) => {
    const host = (request.headers.host ?? '').split(':')[0] ?? '';
    requests.set(host, (requests.get(host) ?? 0) + 1);
    request.resume().once('end', () => {
      const { method = 'GET', url: path = '/', headers } = request;
      const answer = standInHosts.get(host)?.({ host, method, path, headers }) ?? { status: 404, json: {} };
      const { status = 200, json } = answer;
      response.writeHead(status, { 'content-type': 'application/json', ...answer.headers });
      response.end(json === undefined ? '' : JSON.stringify(json));
    });
  };
}

async function makeCertificates(directory: string): Promise<{ caFile: string; key: string; cert: string }> {
  const file = (name: string): string => join(directory, name);
  const openssl = (...args: string[]): Promise<unknown> => promisify(execFile)('openssl', args);
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = [...standInHosts.keys(), redshiftHost].map((host) => `DNS:${host}`).join(',');
  await writeFile(file('names.cnf'), `subjectAltName=${names}\n`);
  const ca = ['-keyout', file('ca.key'), '-out', file('ca.pem'), '-days', '2', '-subj', '/CN=Millrace stand-in CA'];
  await openssl('req', '-x509', ...fresh, ...ca);
  await openssl('req', ...fresh, '-keyout', file('key.pem'), '-out', file('request.pem'), '-subj', '/CN=stand-in');
  const signed = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2'];
  const named = ['-extfile', file('names.cnf')];
  await openssl('x509', '-req', '-in', file('request.pem'), '-out', file('cert.pem'), ...signed, ...named);
  const [key, cert] = await Promise.all([readFile(file('key.pem'), 'utf8'), readFile(file('cert.pem'), 'utf8')]);
  return { caFile: file('ca.pem'), key, cert };
}
