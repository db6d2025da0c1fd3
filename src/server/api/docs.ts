import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { fastify, type FastifyInstance } from 'fastify';

const compress = promisify(gzip);

const pageText = `<!doctype html><html lang="en"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width,initial-scale=1" /><link rel="icon" href="data:," /><title>Millrace API</title></head>
<body><div id="reference"></div><script src="/api/docs/scalar.js"></script><script src="/api/docs/start.js"></script></body></html>`;

const startText = `Scalar.createApiReference('#reference', {
  url: '/api/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultOpenAllTags: true,
  authentication: { preferredSecurityScheme: 'personalApiKey' },
});`;

// The viewer uses inline styles; everything else comes from this server, and it must not call anything else.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const common = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** GET /api/docs: interactive reference of /api/openapi.json, without external resources. */
export function serveDocs(app: FastifyInstance): void {
  for (const url of ['/api/docs', '/api/docs/']) {
    app.get(url, async (_request, reply) => reply.headers(common).type('text/html; charset=utf-8').send(pageText));
  }
  app.get('/api/docs/start.js', async (_request, reply) =>
    reply.headers(common).type('text/javascript; charset=utf-8').send(startText),
  );
  let bundle: Promise<Bundle> | undefined;
  app.get('/api/docs/scalar.js', async (request, reply) => {
    bundle ??= loadBundle();
    const { plain, gzipped, etag } = await bundle;
    reply.headers(common).headers({ etag, vary: 'accept-encoding' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    reply.type('text/javascript; charset=utf-8');
    const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    return takesGzip ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(plain);
  });
}

interface Bundle {
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

/**
 * The viewer's script, 4 MB, read when the page is first opened. The package only provides it through a Fastify plugin, so a
 * temporary server serves it.
 */
async function loadBundle(): Promise<Bundle> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const source = fastify();
  await source.register(reference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const { rawPayload, statusCode } = await source.inject('/docs/js/scalar.js');
  await source.close();
  if (statusCode !== 200) throw new Error(`expected the API viewer to bring its script, got status ${statusCode}`);
  const etag = `"${createHash('sha256').update(rawPayload).digest('base64url')}"`;
  return { plain: rawPayload, gzipped: await compress(rawPayload), etag };
}
