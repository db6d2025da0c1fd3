import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface ServedFile {
  /** Content-Type. */
  readonly type: string;
  /** Encodings in which it exists, the smallest first. */
  readonly encodings: readonly Encoding[];
  /** Reads its bytes in the encoding; `undefined` means unencoded. */
  read(encoding: Encoding | undefined): Promise<Buffer>;
}

export type Encoding = 'br' | 'gzip';

/**
 * Sends the file in the smallest encoding that the client accepts, or 304 if the client has it.
 * @param headers of the response, including Cache-Control, and Vary if more than the encoding varies it
 */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: ServedFile,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(file.encodings, request.headers['accept-encoding']);
  const bytes = await file.read(encoding);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  reply.headers({ vary: 'accept-encoding', ...headers, etag });
  if (names(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  return reply.type(file.type).send(bytes);
}

/** Returns the first existing encoding that the client accepts; `undefined` means unencoded. */
export function chooseEncoding(
  there: readonly Encoding[],
  header: string | readonly string[] = '',
): Encoding | undefined {
  const taken = new Set(
    String(header)
      .toLowerCase()
      .split(',')
      .filter((item) => !/;\s*q=0(\.0*)?\s*$/.test(item))
      .map((item) => item.split(';')[0]?.trim()),
  );
  return there.find((encoding) => taken.has(encoding));
}

/** Returns whether If-None-Match contains the tag. Proxies make tags weak. */
function names(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*') ?? false;
}
