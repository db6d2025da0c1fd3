import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import multipart, { type Multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { UploadedFile, UploadStream } from './api-route.ts';
import { parseExactValues } from '../../base/exact-json.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { ValueSource } from './coerce.ts';

/** A body parsed by its content type, before validation. */
export interface ParsedBody {
  value: unknown;
  readonly source: ValueSource;
  readonly files: ReadonlyMap<string, UploadedFile>;
}

export const bodyBytesMax = 20 * 1024 * 1024;
const fileBytesMax = 10 * 1024 * 1024;
const filesMax = 20;
const fieldsMax = 1000;
const depthMax = 64;
const noFiles: ReadonlyMap<string, UploadedFile> = new Map();

/** Registers parsers of JSON, form and multipart bodies, and of files for routes that accept them; anything else is 415. */
export function registerBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: bodyBytesMax },
    (request, body, done) => {
      const parse =
        request.found?.byMethod.get(request.method)?.route.keepsDigits === true ? parseExactValues : JSON.parse;
      parseInto(done, () => parseJsonOrForm(textOf(body), parse));
    },
  );
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: bodyBytesMax },
    (_request, body, done) => parseInto(done, () => parseForm(textOf(body))),
  );
  app.addContentTypeParser('application/octet-stream', (request, payload, done) => {
    if (request.found?.byMethod.get(request.method)?.route.takesUpload === true) return done(null, payload);
    done(new ApiError('unsupported_media_type', 'Unsupported media type in request.'));
  });
  void app.register(multipart, {
    throwFileSizeLimit: true,
    limits: { fileSize: fileBytesMax, files: filesMax, fields: fieldsMax, fieldSize: 1024 * 1024, fieldNameSize: 200 },
  });
}

function parseInto(done: (error: Error | null, body?: ParsedBody) => void, parse: () => ParsedBody): void {
  try {
    done(null, parse());
  } catch (error) {
    done(error as Error);
  }
}

function textOf(body: string | Buffer): string {
  if (typeof body === 'string') return body;
  if (!isUtf8(body)) throw new ApiError('parse_error', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/**
 * Parses JSON, and a form under a JSON content type, as in published examples. An empty body is an empty object.
 * @throws ApiError parse_error
 */
export function parseJsonOrForm(text: string, parse: (text: string) => unknown = JSON.parse): ParsedBody {
  if (text.trim() === '') return { value: {}, source: 'json', files: noFiles };
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    if (/^\s*[A-Za-z_][\w.\-[\]%]*=/.test(text)) return parseForm(text.trim());
    throw new ApiError('parse_error', `JSON parse error - ${withoutSnippet(error)}`);
  }
  refuseTraps(value, 0);
  return { value, source: 'json', files: noFiles };
}

/** Removes the quote of the body from the engine's message: a body may contain secrets, which must not be in responses or logs. */
function withoutSnippet(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return (
    message.replace(/,? ?"?\.{0,3}"[^]*$/, '').replace(/^Unexpected token .*$/su, 'unexpected character') || 'invalid'
  );
}

/** Removes `__proto__` keys, which would set a prototype when copied, and refuses nesting that later steps cannot walk. */
function refuseTraps(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth === depthMax) {
    throw new ApiError('parse_error', `JSON parse error - nested deeper than ${depthMax} levels.`);
  }
  if (Array.isArray(value)) {
    for (const item of value) refuseTraps(item, depth + 1);
    return;
  }
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record)) {
    if (key === '__proto__') delete record[key];
    else refuseTraps(record[key], depth + 1);
  }
}

/** Repeated names become lists. */
export function parseForm(text: string): ParsedBody {
  const fields = new Map<string, unknown>();
  for (const [name, value] of new URLSearchParams(text)) addField(fields, name, value);
  return { value: toRecord(fields), source: 'text', files: noFiles };
}

function addField(fields: Map<string, unknown>, name: string, value: unknown): void {
  if (!fields.has(name)) fields.set(name, value);
  else {
    const before = fields.get(name);
    if (Array.isArray(before)) before.push(value);
    else fields.set(name, [before, value]);
  }
}

function toRecord(fields: Map<string, unknown>): Record<string, unknown> {
  fields.delete('__proto__');
  return Object.fromEntries(fields);
}

/**
 * Returns the single file of a request whose route accepts an upload; none of it is kept in memory.
 * @throws ApiError required, parse_error
 */
export async function openUpload(request: FastifyRequest): Promise<UploadStream> {
  if (!request.isMultipart()) {
    if (request.body instanceof Readable) return { fileName: undefined, content: request.body };
    throw new ApiError('unsupported_media_type', 'Expected application/octet-stream or multipart/form-data.');
  }
  try {
    // The route limits the size itself.
    const part = await request.file({ limits: { fileSize: Number.MAX_SAFE_INTEGER, files: 1 } });
    if (part !== undefined) return { fileName: part.filename, content: contentOf(part.file) };
  } catch (error) {
    throw multipartError(error);
  }
  throw new ApiError('required', 'Expected one file in the body, got none.', { attr: 'file' });
}

async function* contentOf(part: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* part;
  } catch (error) {
    throw multipartError(error);
  }
}

/** Reads a complete multipart body: fields as text, files into memory. */
export async function readMultipart(request: FastifyRequest): Promise<ParsedBody> {
  const fields = new Map<string, unknown>();
  const files = new Map<string, UploadedFile>();
  let bytes = 0;
  try {
    for await (const part of request.parts()) {
      bytes += await takePart(part, fields, files);
      if (bytes > bodyBytesMax) throw new ApiError('request_too_large', 'Request too large.');
    }
  } catch (error) {
    throw multipartError(error);
  }
  return { value: toRecord(fields), source: 'text', files };
}

/** Converts errors of the parser, which have no codes; toApiError handles those of the plugin around it, which have. */
function multipartError(cause: unknown): unknown {
  const isKnown = cause instanceof Error && 'code' in cause && String(cause.code).startsWith('FST_');
  if (cause instanceof ApiError || isKnown) return cause;
  return new ApiError('parse_error', 'Multipart form parse error - the body does not follow its boundary.', { cause });
}

async function takePart(
  part: Multipart,
  fields: Map<string, unknown>,
  files: Map<string, UploadedFile>,
): Promise<number> {
  if (part.type === 'file') {
    const content = await part.toBuffer();
    files.set(part.fieldname, { fileName: part.filename, contentType: part.mimetype, content });
    return content.length;
  }
  if (part.valueTruncated) {
    throw new ApiError('request_too_large', `Field "${part.fieldname}" is longer than 1 MiB.`, {
      attr: part.fieldname,
    });
  }
  addField(fields, part.fieldname, part.value);
  return typeof part.value === 'string' ? part.value.length : 0;
}
