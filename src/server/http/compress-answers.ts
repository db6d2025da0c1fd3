import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { chooseEncoding } from './send-file.ts';

const compress = promisify(gzip);
/** Below this, the packets that it saves are not worth the time. */
const lengthMin = 8_192;
/** Lists of records are highly repetitive: the fastest level makes them a tenth. */
const level = 1;

/** Compresses long JSON answers for clients that accept it: a list of 250 configs is 470 kB of text. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook<unknown>('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < lengthMin || reply.hasHeader('content-encoding'))
      return payload;
    if (!String(reply.getHeader('content-type')).startsWith('application/json')) return payload;
    const others = reply.getHeader('vary');
    reply.header('vary', others === undefined ? 'accept-encoding' : `${String(others)}, accept-encoding`);
    if (chooseEncoding(['gzip'], request.headers['accept-encoding']) === undefined) return payload;
    const bytes = await compress(payload, { level });
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return bytes;
  });
}
