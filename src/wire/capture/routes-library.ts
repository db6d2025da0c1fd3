import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { sendFile, type Encoding, type ServedFile } from '../../server/http/send-file.ts';
import { configScript, remoteConfig } from './remote-config.ts';
import { get, slashed } from './routes-get.ts';
import type { CaptureDeps } from './take-request.ts';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

type Params = Readonly<Record<'token' | 'version' | 'file', string>>;

// Pages of any origin may request these files, with or without an Origin header; `vary` keeps caches from mixing the responses.
const forAnHour = { 'cache-control': 'public, max-age=3600', vary: 'origin, accept-encoding' };
const forEver = { ...forAnHour, 'cache-control': 'public, max-age=31536000, immutable' };
const forMinutes = { 'cache-control': 'public, max-age=300', vary: 'origin' };

/**
 * Serves what the HTML snippet loads: the browser library, its parts and the configuration of a project. Paths that contain an
 * unknown project key answer 404.
 */
export function registerLibrary(app: FastifyInstance, { projects }: Pick<CaptureDeps, 'projects'>): void {
  const library = openBrowserLibrary();
  get(app, '/static/:file', (request, reply) =>
    sendScript(library, (request.params as Params).file, request, reply, forAnHour),
  );
  get(app, '/static/:version/:file', async (request, reply) => {
    const { version, file } = request.params as Params;
    // Snippets may be pinned to a major version.
    if (version === library.version.split('.')[0]) return sendScript(library, file, request, reply, forAnHour);
    if (version !== library.version)
      throw new ApiError('not_found', `expected version ${library.version} of the browser library, got: ${version}`);
    return sendScript(library, file, request, reply, forEver);
  });
  // Some snippets load the library under the project key. It fetches its configuration itself.
  get(app, '/array/:token/array.js', async (request, reply) => {
    await requireProject(projects, (request.params as Params).token);
    return sendScript(library, 'array.js', request, reply, forAnHour);
  });
  const configOf = (path: string, type: string, body: (token: string) => unknown): void =>
    get(app, path, async (request, reply) => {
      const { token } = request.params as Params;
      await requireProject(projects, token);
      return reply.headers(forMinutes).type(type).send(body(token));
    });
  for (const url of slashed('/array/:token/config')) {
    configOf(url, 'application/json; charset=utf-8', (token) => ({ token, ...remoteConfig }));
  }
  configOf('/array/:token/config.js', 'application/javascript; charset=utf-8', configScript);
}

async function sendScript(
  { files }: BrowserLibrary,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  const file = files.get(name);
  if (file === undefined) throw new ApiError('not_found', 'The browser library has no such script.');
  return sendFile(request, reply, file, { ...headers, 'x-content-type-options': 'nosniff' });
}

async function requireProject(projects: CaptureDeps['projects'], token: string): Promise<void> {
  try {
    await projects.projectOf(token);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError('not_found', 'There is no project with this project API key.', { cause: error });
  }
}

/**
 * The scripts of the browser library that a page may load: those that the HTML snippet names and those that the library fetches
 * for optional features. No other file of the package is served.
 */
export const libraryScripts = [
  'array',
  'array.full',
  'array.full.es5',
  'array.full.no-external',
  'array.no-external',
  'all-external-dependencies',
  'conversations',
  'crisp-chat-integration',
  'customizations.full',
  'dead-clicks-autocapture',
  'exception-autocapture',
  'external-scripts-loader',
  'intercom-integration',
  'lazy-recorder',
  'logs',
  'posthog-recorder',
  'product-tours',
  'recorder',
  'recorder-v2',
  'surveys',
  'tracing-headers',
  'web-vitals',
  'web-vitals-soft-navs',
  'web-vitals-with-attribution',
  'web-vitals-with-attribution-soft-navs',
] as const;

interface BrowserLibrary {
  /** Version of the npm package, such as `1.434.18`. */
  readonly version: string;
  /** By name, such as `array.js` and `array.js.map`. */
  readonly files: ReadonlyMap<string, ServedFile>;
}

/** Opens the browser library of the npm package. Its files are read at their first request and kept in memory. */
function openBrowserLibrary(): BrowserLibrary {
  const installed = createRequire(import.meta.url);
  const { version } = installed('posthog-js/package.json') as { readonly version: string };
  const dir = dirname(installed.resolve('posthog-js/dist/array.js'));
  const names = libraryScripts.flatMap((name) => [`${name}.js`, `${name}.js.map`]);
  return { version, files: new Map(names.map((name) => [name, describeFile(join(dir, name))])) };
}

function describeFile(path: string): ServedFile {
  const made = new Map<Encoding | undefined, Promise<Buffer>>();
  return {
    type: path.endsWith('.map') ? 'application/json; charset=utf-8' : 'text/javascript; charset=utf-8',
    encodings: ['br', 'gzip'],
    async read(encoding) {
      const bytes = made.get(encoding) ?? encode(path, encoding);
      made.set(encoding, bytes);
      try {
        return await bytes;
      } catch (error) {
        // A failed read may succeed the next time.
        made.delete(encoding);
        throw error;
      }
    },
  };
}

/** Compressed once and sent often, but the first client waits: the last few percent would take a second. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

async function encode(path: string, encoding: Encoding | undefined): Promise<Buffer> {
  const bytes = await readFile(path);
  if (encoding === undefined) return bytes;
  return encoding === 'br' ? promisify(brotliCompress)(bytes, brotliOptions) : promisify(gzip)(bytes);
}
