import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../../wire/contract/errors.ts';
import { sendFile, type Encoding, type ServedFile } from '../send-file.ts';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

// Everything comes from this server, nothing is inline, and no other server can be called.
const policy = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const common = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
} as const;

export interface Console {
  /** Whether there is a build; otherwise every path below /console/ redirects to the start page. */
  readonly isBuilt: boolean;
}

/**
 * Serves GET and HEAD below /console/: built files, and index.html for every other path, since routes of the console are paths.
 * @param dir console/dist
 */
export function serveConsole(app: FastifyInstance, dir: string): Console {
  const files = readBuild(dir);
  const index = files?.get('index.html');
  if (files === undefined || index === undefined) {
    // The start page explains how to build it.
    for (const url of ['/console', '/console/*']) app.get(url, async (_request, reply) => reply.redirect('/', 302));
    return { isBuilt: false };
  }
  app.get('/console', async (_request, reply) => reply.headers(common).redirect('/console/', 308));
  app.get('/console/*', async (request, reply) => {
    const path = pathBelow(request);
    const file = files.get(path);
    if (file !== undefined) return sendBuilt(request, reply, file);
    // A missing script belongs to an older build, and must not be answered with a page.
    if (path.startsWith('assets/'))
      throw new ApiError('not_found', 'There is no such file in this build of the console.');
    return sendBuilt(request, reply, index);
  });
  return { isBuilt: true };
}

function pathBelow(request: FastifyRequest): string {
  return (request.params as Readonly<Record<string, string>>)['*'] ?? '';
}

function sendBuilt(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): Promise<FastifyReply> {
  const caching = file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache';
  return sendFile(request, reply, file, { ...common, 'cache-control': caching });
}

interface BuiltFile extends ServedFile {
  /** Its name contains a hash of its content, which therefore never changes. */
  readonly immutable: boolean;
}

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * Returns the files of a build by path, or `undefined` if there is no build.
 * @param dir absolute path of console/dist
 */
function readBuild(dir: string): ReadonlyMap<string, BuiltFile> | undefined {
  if (!existsSync(join(dir, 'index.html'))) return undefined;
  const names = new Set(
    readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/')),
  );
  const served = [...names].filter((name) => Object.hasOwn(types, extname(name)));
  return new Map(served.map((name) => [name, describeFile(dir, name, names)]));
}

function describeFile(dir: string, name: string, names: ReadonlySet<string>): BuiltFile {
  return {
    type: types[extname(name)] ?? 'application/octet-stream',
    immutable: name.startsWith('assets/'),
    encodings: (['br', 'gzip'] as const).filter((encoding) => names.has(name + suffixes[encoding])),
    read: (encoding) => readFile(join(dir, encoding === undefined ? name : name + suffixes[encoding])),
  };
}
