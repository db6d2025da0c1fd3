import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import type { DirectAnswer } from './direct.ts';
import { chooseEncoding, type Encoding } from './send-file.ts';

const packBrotli = promisify(brotliCompress);
const packGzip = promisify(gzip);
/** Below this, the packets that it saves are not worth the time. */
const lengthMin = 2_048;
/** 200 configs are 409 kB of text, in which much repeats: Brotli makes 13 kB of it, gzip 65 kB, in 2 ms. */
const pack: Readonly<Record<Encoding, (body: string | Uint8Array) => Promise<Buffer>>> = {
  br: (body) => packBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => packGzip(body, { level: 1 }),
};

/** Compresses long JSON answers for clients that accept it. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook<unknown>('onSend', async (request, reply, payload) => {
    if (!isWhole(payload)) return payload;
    const given = { status: reply.statusCode, headers: headersOf(reply.getHeaders()), body: payload };
    const { headers, body } = await compressAnswer(given, request.headers['accept-encoding']);
    if (body !== payload) reply.removeHeader('content-length');
    reply.headers(headers);
    return body;
  });
}

/** Returns the answer compressed if it is long JSON and the client accepts that. */
export async function compressAnswer(
  answer: DirectAnswer,
  acceptEncoding: string | readonly string[] | undefined,
): Promise<DirectAnswer> {
  const { headers, body } = answer;
  const isJson = headers['content-type']?.startsWith('application/json') === true;
  if (!isWhole(body) || body.length < lengthMin || !isJson) return answer;
  // A tag names the bytes that it was computed from.
  if ('content-encoding' in headers || 'etag' in headers) return answer;
  const vary = [headers['vary'], 'accept-encoding'].filter((each) => each !== undefined).join(', ');
  const encoding = chooseEncoding(['br', 'gzip'], acceptEncoding);
  if (encoding === undefined) return { ...answer, headers: { ...headers, vary } };
  return { ...answer, headers: { ...headers, vary, 'content-encoding': encoding }, body: await pack[encoding](body) };
}

function isWhole(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array;
}

function headersOf(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const wanted = ['content-type', 'content-encoding', 'etag', 'vary'];
  return Object.fromEntries(wanted.flatMap((name) => (given[name] === undefined ? [] : [[name, String(given[name])]])));
}
