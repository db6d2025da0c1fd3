import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseAllowList } from '../../src/plugins/outbound/allow-list.ts';
import type { OutboundFetch } from '../../src/plugins/outbound/outbound.ts';
import { createOutboundFetch } from '../../src/plugins/outbound/safe-fetch.ts';

/** For tests: an npm registry, public git hosts and plain addresses of archives, as one real HTTP server. */
export interface PackageServer extends AsyncDisposable {
  readonly url: string;
  /** By path, `/npm/…` for the registry, `/github.com/…` for the git host. */
  readonly answers: Map<string, Answer>;
  /** Paths asked for so far. */
  readonly asked: string[];
  /** The real outbound fetch; requests to the git hosts go to this server instead. */
  readonly fetch: OutboundFetch;
  readonly npmRegistry: string;
  publish(name: string, releases: Readonly<Record<string, Uint8Array>>, more?: Published): void;
}

export interface Answer {
  readonly status?: number;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Published {
  readonly tags?: Readonly<Record<string, string>>;
  /** Instead of what the registry would say about the tarball. */
  readonly dist?: (bytes: Uint8Array, tarball: string) => object;
}

const hosts = /^https:\/\/(github\.com|gitlab\.com)\//;

export async function startPackageServer(): Promise<PackageServer> {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    const answer = answers.get(path);
    response.writeHead(answer?.status ?? (answer === undefined ? 404 : 200), answer?.headers).end(answer?.body ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const outbound = createOutboundFetch({ allow: parseAllowList('127.0.0.1'), timeoutMs: 5000, bytesMax: 21_000_000 });
  return {
    url,
    answers,
    asked,
    fetch: (request) => outbound({ ...request, url: request.url.replace(hosts, `${url}/$1/`) }),
    npmRegistry: `${url}/npm/`,
    publish(name, releases, { tags = {}, dist = distOf } = {}) {
      const file = `/npm/${name}/-/`;
      const versions = Object.entries(releases).map(([version, bytes]) => {
        answers.set(`${file}${version}.tgz`, { body: bytes });
        return [version, { version, dist: dist(bytes, `${url}${file}${version}.tgz`) }] as const;
      });
      const latest = versions.at(-1)?.[0];
      const document = { name, 'dist-tags': { latest, ...tags }, versions: Object.fromEntries(versions) };
      answers.set(`/npm/${name.replace('/', '%2f')}`, { body: JSON.stringify(document) });
    },
    async [Symbol.asyncDispose]() {
      await outbound.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function distOf(bytes: Uint8Array, tarball: string): object {
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  return { tarball, integrity, shasum: createHash('sha1').update(bytes).digest('hex') };
}
