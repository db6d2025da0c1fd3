import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface ServedFile {
  /** Content-Type. */
  readonly type: string;
  /** What it can be sent in beside its own bytes, the smallest first. */
  readonly encodings: readonly Encoding[];
  /** Its bytes in the encoding; undefined: as they are. */
  read(encoding: Encoding | undefined): Promise<Buffer>;
}

export type Encoding = 'br' | 'gzip';

/**
 * Answers with the file in the smallest encoding that the client takes, or with 304 when it has it.
 * @param headers of the answer; Cache-Control among them, and Vary where more than the encoding changes it
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

/** The first of what lies there that the client takes; undefined: as it is. */
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

/** Whether If-None-Match names the tag. Proxies make tags weak. */
function names(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*') ?? false;
}
