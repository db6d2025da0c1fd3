import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { sendFile } from '../../server/http/send-file.ts';
import { openBrowserLibrary, type BrowserLibrary } from './browser-library.ts';
import { configScript, remoteConfig } from './remote-config.ts';
import { get, slashed } from './routes-get.ts';
import type { CaptureDeps } from './take-request.ts';

type Params = Readonly<Record<'token' | 'version' | 'file', string>>;

// A page may ask from any origin, or without telling it: caches keep the answers apart.
const forAnHour = { 'cache-control': 'public, max-age=3600', vary: 'origin, accept-encoding' };
const forEver = { ...forAnHour, 'cache-control': 'public, max-age=31536000, immutable' };
const forMinutes = { 'cache-control': 'public, max-age=300', vary: 'origin' };

/**
 * What the HTML snippet loads: the browser library, its parts, and the configuration of a project. What belongs to a project
 * is 404 for a key that nobody has.
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
      throw new ApiError('not_found', `The browser library that is served here has version ${library.version}.`);
    return sendScript(library, file, request, reply, forEver);
  });
  // Some snippets ask for the library by the project's key. It fetches its configuration itself.
  get(app, '/array/:token/array.js', async (request, reply) => {
    await knownOr404(projects, (request.params as Params).token);
    return sendScript(library, 'array.js', request, reply, forAnHour);
  });
  const configOf = (path: string, type: string, body: (token: string) => unknown): void =>
    get(app, path, async (request, reply) => {
      const { token } = request.params as Params;
      await knownOr404(projects, token);
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

async function knownOr404(projects: CaptureDeps['projects'], token: string): Promise<void> {
  try {
    await projects.projectOf(token);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new ApiError('not_found', 'There is no project with this project API key.', { cause: error });
  }
}
