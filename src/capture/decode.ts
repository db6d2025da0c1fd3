import { gunzipSync } from 'node:zlib';
import { ApiError } from '../contract/errors.ts';
import { decompressLz64, LzError } from './lz64.ts';

/** What the request says about its body. Nothing of it is trusted: gzip is told by its first bytes, base64 by its look. */
export interface BodyHints {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  /** `compression=` of the query. */
  readonly queryCompression?: string | undefined;
  /** `data=` of the query; when not empty it stands for the body. */
  readonly queryData?: string | undefined;
  /** Old browser paths wrap base64 twice. */
  readonly legacyPath?: boolean | undefined;
}

export interface DecodeLimits {
  readonly inflatedBytesMax: number;
}

export interface DecodedBody {
  readonly json: Buffer;
  /** What the event log keeps: the bytes as received when they are gzip of this very JSON, otherwise the JSON. */
  readonly body: Buffer;
  readonly encoding: 'identity' | 'gzip';
}

type Compression = 'gzip' | 'lz64' | 'base64' | 'none';

const compressionNames: Readonly<Record<string, Compression>> = {
  gzip: 'gzip',
  'gzip-js': 'gzip',
  lz64: 'lz64',
  'lz-string': 'lz64',
  base64: 'base64',
  b64: 'base64',
};

/** Every form that client libraries send, turned into JSON text. Throws ApiError: 400, 413 or 415, saying what came. */
export function decodeBody(raw: Buffer, hints: BodyHints, limits: DecodeLimits): DecodedBody {
  const fromQuery = hints.queryData !== undefined && hints.queryData !== '';
  const received = fromQuery ? Buffer.from(hints.queryData.replaceAll(' ', '+')) : raw;
  if (received.length === 0) throw notReadable('expected a body or "data" in the query, got: neither');
  const form = fromQuery ? undefined : readForm(received, hints.contentType);
  const hint = compressionHint(hints, form?.compression);
  const payload = form?.data ?? received;
  if (isGzip(payload)) {
    const json = gunzip(payload, limits);
    if (looksLikeJson(json)) {
      return payload === raw ? { json, body: raw, encoding: 'gzip' } : { json, body: json, encoding: 'identity' };
    }
  }
  const json = unwrap(payload, hint, hints.legacyPath === true ? 2 : 1, limits);
  return { json, body: json, encoding: 'identity' };
}

/** JSON text of a record of the event log. Throws ApiError when the bytes are not what `encoding` says. */
export function inflateBody(body: Uint8Array, encoding: 'identity' | 'gzip', limits: DecodeLimits): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return encoding === 'gzip' ? gunzip(bytes, limits) : bytes;
}

function unwrap(payload: Buffer, hint: Compression, base64LevelsMax: number, limits: DecodeLimits): Buffer {
  let bytes = payload;
  let gunzipped = false;
  let base64Levels = 0;
  if (hint === 'lz64' && !isGzip(bytes) && !looksLikeJson(bytes)) return unpackLz64(bytes, limits);
  for (;;) {
    if (isGzip(bytes) && !gunzipped) {
      bytes = gunzip(bytes, limits);
      gunzipped = true;
    } else if (base64Levels < base64LevelsMax && looksLikeBase64(bytes)) {
      bytes = Buffer.from(bytes.toString('latin1'), 'base64');
      base64Levels++;
    } else if (hint === 'base64' && base64Levels === 0 && !looksLikeJson(bytes)) {
      throw notReadable('expected base64, as "compression" says, got: bytes that are not');
    } else return checkNotMislabelled(bytes, hint, gunzipped);
    if (bytes.length > limits.inflatedBytesMax) throw tooLarge(limits);
  }
}

/** A body that claims gzip, was not, and is no JSON either: name the real cause rather than a JSON error. */
function checkNotMislabelled(bytes: Buffer, hint: Compression, gunzipped: boolean): Buffer {
  if (hint === 'gzip' && !gunzipped && !looksLikeJson(bytes)) {
    throw notReadable('invalid GZIP data: expected gzip, as the request says, got: bytes that do not start like it');
  }
  return bytes;
}

function compressionHint(hints: BodyHints, formCompression: string | undefined): Compression {
  const named = hints.queryCompression ?? formCompression;
  if (named !== undefined && named !== '') return compressionNames[named.trim().toLowerCase()] ?? 'none';
  const encoding = hints.contentEncoding?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return 'none';
  const known = compressionNames[encoding];
  if (known !== undefined) return known;
  throw new ApiError('unsupported_media_type', `expected Content-Encoding gzip or none, got: ${encoding.slice(0, 40)}`);
}

interface FormBody {
  readonly data: Buffer;
  readonly compression: string | undefined;
}

/** `data=…&compression=…`. Undefined: the body is not a form, whatever its Content-Type says. */
function readForm(body: Buffer, contentType: string | undefined): FormBody | undefined {
  const declared = contentType?.split(';')[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
  if (looksLikeJson(body) || isGzip(body)) return undefined;
  if (!/^(?:data|_|ip|ver|compression)=/.test(body.toString('latin1', 0, 16))) {
    if (declared && !looksLikeBase64(body)) {
      throw notReadable('expected form data in POST request payload ("data=…") or JSON, got: neither');
    }
    return undefined;
  }
  const fields = new URLSearchParams(body.toString('latin1'));
  const data = fields.get('data');
  if (data === null || data === '') throw notReadable('expected "data" in the form, got: none');
  // A base64 text that was not escaped has lost its plus signs to the form rules.
  const text = /^[{[]/.test(data.trimStart()) ? data : data.replaceAll(' ', '+');
  return { data: Buffer.from(text), compression: fields.get('compression') ?? undefined };
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function looksLikeJson(bytes: Buffer): boolean {
  let at = 0;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return bytes[at] === 0x7b || bytes[at] === 0x5b;
}

function looksLikeBase64(bytes: Buffer): boolean {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  if (end === 0 || end % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]+={0,2}$/.test(bytes.toString('latin1', 0, Math.min(128, end)));
}

/** Deflate expands at most 1032 times, so no trailer can make us reserve more than that. */
const expansionMax = 1032;
const chunkBytesMin = 1024;
const chunkBytesMax = 32 * 1024 * 1024;

/**
 * The whole of a gzip body (several members are one body, as RFC 1952 has it). Its last four bytes claim the size, which
 * makes one right-sized allocation; the claim is checked by zlib and never trusted beyond the limits.
 */
function gunzip(bytes: Buffer, limits: DecodeLimits): Buffer {
  if (bytes.length < 18) throw notReadable(`invalid GZIP data: expected a whole gzip body, got: ${bytes.length} bytes`);
  const claimed = bytes.readUInt32LE(bytes.length - 4);
  // The true size is the claim or more by multiples of 4 GiB: too much already, unless deflate cannot even reach it.
  if (claimed > limits.inflatedBytesMax && claimed <= bytes.length * expansionMax) throw tooLarge(limits);
  const chunkSize = Math.min(chunkBytesMax, limits.inflatedBytesMax, bytes.length * expansionMax, claimed + 1);
  try {
    const { buffer, engine } = gunzipSync(bytes, {
      chunkSize: Math.max(chunkBytesMin, chunkSize),
      maxOutputLength: limits.inflatedBytesMax,
      info: true,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (engine.bytesWritten !== bytes.length) {
      const extra = bytes.length - engine.bytesWritten;
      throw notReadable(`invalid GZIP data: expected the body to end with the gzip data, got: ${extra} more bytes`);
    }
    return buffer;
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limits);
    throw notReadable(`invalid GZIP data: ${message}`, cause);
  }
}

function unpackLz64(bytes: Buffer, limits: DecodeLimits): Buffer {
  try {
    return Buffer.from(decompressLz64(bytes, limits.inflatedBytesMax / 2));
  } catch (cause) {
    if (!(cause instanceof LzError)) throw cause;
    if (cause.tooLarge) throw tooLarge(limits);
    throw notReadable(`invalid lz64 data: ${cause.message}`, cause);
  }
}

function notReadable(detail: string, cause?: unknown): ApiError {
  return new ApiError('parse_error', `failed to decode request: ${detail}`, { cause });
}

function tooLarge(limits: DecodeLimits): ApiError {
  return new ApiError(
    'request_too_large',
    `maximum event size exceeded: Decompressed payload would exceed ${limits.inflatedBytesMax} bytes; send smaller batches`,
  );
}
