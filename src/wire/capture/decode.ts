import { ApiError } from '../contract/errors.ts';
import { inflatedTooLarge, isGzip, type Gunzip, type InflateLimits } from './gunzip.ts';

/** What the request claims about its body. Nothing is trusted: gzip is detected by its first bytes, base64 by its characters. */
export interface BodyHints {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  /** `compression=` of the query. */
  readonly queryCompression?: string | undefined;
  /** `data=` of the query. Replaces the body unless empty. */
  readonly queryData?: string | undefined;
  /** Old browser paths may encode base64 twice. */
  readonly legacyPath?: boolean | undefined;
}

export interface DecodedBody {
  readonly json: Buffer;
  /** What the event log keeps: the bytes as received if they are gzip of this JSON, otherwise the JSON. */
  readonly body: Buffer;
  readonly encoding: 'identity' | 'gzip';
}

type Compression = 'gzip' | 'lz64' | 'base64' | 'none';

/** Accepted values of `compression=` and Content-Encoding. */
export const compressionNames: Readonly<Record<string, Compression>> = {
  gzip: 'gzip',
  'gzip-js': 'gzip',
  lz64: 'lz64',
  'lz-string': 'lz64',
  base64: 'base64',
  b64: 'base64',
};

/** Limit of forms and base64, which are decoded on the event loop. Browsers send far less; larger bodies are JSON or gzip. */
export const wrappedBytesMax = 2 * 1024 * 1024;
/** Client libraries send four. */
const formFieldsMax = 16;

/** Refuses a body too large for anything but JSON or gzip if it begins with neither, before any of it is kept. */
export function refuseLargeWrapped(start: Buffer, declaredBytes: number): ApiError | undefined {
  if (declaredBytes <= wrappedBytesMax || isGzip(start) || looksLikeJson(start) || isBlank(start)) return undefined;
  return wrappedTooLarge('a body that is neither JSON nor gzip');
}

/** Converts every body form that client libraries send to JSON text. Throws ApiError 400, 413 or 415 with what was received. */
export async function decodeBody(
  raw: Buffer,
  hints: BodyHints,
  limits: InflateLimits,
  gunzip: Gunzip,
): Promise<DecodedBody> {
  const fromQuery = hints.queryData !== undefined && hints.queryData !== '';
  const received = fromQuery ? Buffer.from(hints.queryData.replaceAll(' ', '+')) : raw;
  if (received.length === 0) throw notReadable('expected a body or "data" in the query, got: neither');
  const form = fromQuery ? undefined : readForm(received, hints.contentType);
  const hint = compressionHint(hints, form?.compression);
  const payload = form?.data ?? received;
  if (hint === 'lz64' && !isGzip(payload) && !looksLikeJson(payload)) return asJson(unpackLz64(payload, limits));
  if (!isGzip(payload)) return asJson(await unwrap(payload, hint, hints, limits, gunzip));
  const json = await gunzip(payload, limits);
  if (looksLikeJson(json) && payload === raw) return { json, body: raw, encoding: 'gzip' };
  return asJson(await unwrap(json, 'none', hints, limits, gunzip));
}

function asJson(json: Buffer): DecodedBody {
  return { json, body: json, encoding: 'identity' };
}

/** Decodes base64, as often as the path allows, and gzip inside it. */
async function unwrap(
  payload: Buffer,
  hint: Compression,
  hints: BodyHints,
  limits: InflateLimits,
  gunzip: Gunzip,
): Promise<Buffer> {
  const base64LevelsMax = hints.legacyPath === true ? 2 : 1;
  let bytes = payload;
  let base64Levels = 0;
  while (base64Levels < base64LevelsMax && looksLikeBase64(bytes)) {
    if (bytes.length > wrappedBytesMax) throw wrappedTooLarge('base64');
    bytes = Buffer.from(bytes.toString('latin1'), 'base64');
    base64Levels++;
    if (bytes.length > limits.inflatedBytesMax) throw inflatedTooLarge(limits);
    if (isGzip(bytes)) return gunzip(bytes, limits);
  }
  if (looksLikeJson(bytes) || base64Levels > 0) return bytes;
  if (hint === 'base64') throw notReadable('expected base64, as "compression" specifies, got: other bytes');
  // Names the cause instead of failing with a JSON error later.
  if (hint === 'gzip')
    throw notReadable('invalid GZIP data: expected gzip, as the request specifies, got: something else');
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

/** Reads `data=…&compression=…`. Returns `undefined` if the body is not a form, regardless of its Content-Type. */
function readForm(body: Buffer, contentType: string | undefined): FormBody | undefined {
  const declared = contentType?.split(';')[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded';
  if (looksLikeJson(body) || isGzip(body)) return undefined;
  if (!/^(?:data|_|ip|ver|compression)=/.test(body.toString('latin1', 0, 16))) {
    if (declared && !looksLikeBase64(body)) {
      throw notReadable('expected form data in POST request payload ("data=…") or JSON, got: neither');
    }
    return undefined;
  }
  if (body.length > wrappedBytesMax) throw wrappedTooLarge('a form');
  const fields = formFields(body);
  const data = fields.get('data');
  if (data === undefined || data === '') throw notReadable('expected "data" in the form, got: none');
  // Form decoding turns the plus signs of unescaped base64 into spaces.
  const text = /^[{[]/.test(data.trimStart()) ? data : data.replaceAll(' ', '+');
  return { data: Buffer.from(text), compression: fields.get('compression') };
}

/** Returns the first value of each name. */
function formFields(body: Buffer): ReadonlyMap<string, string> {
  const pairs = body.toString('latin1').split('&', formFieldsMax + 1);
  if (pairs.length > formFieldsMax) {
    throw notReadable(`expected at most ${formFieldsMax} fields in the form, got: more`);
  }
  const fields = new Map<string, string>();
  for (const pair of pairs) {
    for (const [name, value] of new URLSearchParams(pair)) if (!fields.has(name)) fields.set(name, value);
  }
  return fields;
}

function wrappedTooLarge(form: string): ApiError {
  const detail = `expected at most ${wrappedBytesMax} bytes in ${form}, got: more; send JSON or gzip, or smaller batches`;
  return new ApiError('request_too_large', detail);
}

function looksLikeJson(bytes: Buffer): boolean {
  const first = bytes[blanksOf(bytes)];
  return first === 0x7b || first === 0x5b;
}

function isBlank(bytes: Buffer): boolean {
  return blanksOf(bytes) === bytes.length;
}

/** Counts leading white space characters. */
function blanksOf(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

function looksLikeBase64(bytes: Buffer): boolean {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  if (end === 0 || end % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]+={0,2}$/.test(bytes.toString('latin1', 0, Math.min(128, end)));
}

function unpackLz64(bytes: Buffer, limits: InflateLimits): Buffer {
  if (bytes.length > lz64BytesMax) {
    const detail = `expected at most ${lz64BytesMax} bytes of lz64, got: ${bytes.length}; send gzip or smaller batches`;
    throw new ApiError('request_too_large', detail);
  }
  const charsMax = Math.min(lz64CharsMax, limits.inflatedBytesMax / 2);
  try {
    return Buffer.from(decompressLz64(bytes, charsMax));
  } catch (cause) {
    if (!(cause instanceof LzError)) throw cause;
    if (cause.tooLarge) throw inflatedTooLarge({ inflatedBytesMax: charsMax * 2 });
    throw notReadable(`invalid lz64 data: ${cause.message}`, cause);
  }
}

function notReadable(detail: string, cause?: unknown): ApiError {
  return new ApiError('parse_error', `failed to decode request: ${detail}`, { cause });
}

/**
 * Decodes the LZ variant that old browser libraries send (lz-string's base64 form). The reference decoder cannot be
 * limited: a few hundred kilobytes can expand to gigabytes. Here every phrase is a slice of the previous output, so a phrase
 * costs eight bytes, and the output ends at its limit.
 *
 * Format: codes of growing width, least significant bit first. 0 and 1 introduce a new character of 8 or 16 bits, 2 ends
 * the text, 3 and above name a phrase. Each step adds a phrase: the previous one plus the first character of this one.
 */
export class LzError extends Error {
  override name = 'LzError';
  readonly tooLarge: boolean;
  constructor(message: string, tooLarge = false) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/** Limits the work per body. These libraries send a page's events, which are a few kilobytes. */
export const lz64BytesMax = 512 * 1024;
export const lz64CharsMax = 2 * 1024 * 1024;

const newByte = 0;
const newUnit = 1;
const endOfText = 2;
const firstPhrase = 3;

/** Decodes the base64 form. Throws LzError if it is damaged or longer than `charsMax` UTF-16 units. */
export function decompressLz64(base64: Buffer, charsMax: number): string {
  const bits = bitReader(base64);
  const output = new Output(charsMax);
  // starts[i] and lengths[i] locate phrase number firstPhrase + i in the output.
  const starts: number[] = [];
  const lengths: number[] = [];
  let width = 2;
  let previousStart = 0;
  let previousLength = 0;
  for (;;) {
    const code = bits(width);
    if (code === endOfText) return output.text();
    const start = output.length;
    if (code === newByte || code === newUnit) {
      output.add(bits(code === newByte ? 8 : 16));
      starts.push(start);
      lengths.push(1);
    } else appendPhrase(output, code - firstPhrase, starts, lengths, previousStart, previousLength);
    if (previousLength > 0) {
      // The previous phrase and the first character of this one are adjacent in the output.
      starts.push(previousStart);
      lengths.push(previousLength + 1);
    }
    previousStart = start;
    previousLength = output.length - start;
    width = widthFor(starts.length);
  }
}

function appendPhrase(
  output: Output,
  phrase: number,
  starts: readonly number[],
  lengths: readonly number[],
  previousStart: number,
  previousLength: number,
): void {
  const start = starts[phrase];
  const length = lengths[phrase];
  if (start !== undefined && length !== undefined) return output.copy(start, length);
  // Only this phrase may be named before it is complete: the previous phrase plus its own first character.
  if (phrase !== starts.length || previousLength === 0) throw new LzError('a code names an unknown phrase');
  output.copy(previousStart, previousLength);
  output.copy(previousStart, 1);
}

/** Returns the width of the next code in bits: enough for the known phrases and the one being built. */
function widthFor(phrases: number): number {
  return 32 - Math.clz32(phrases + firstPhrase);
}

class Output {
  length = 0;
  #units = new Uint16Array(1024);
  readonly #max: number;
  constructor(max: number) {
    this.#max = max;
  }
  add(unit: number): void {
    this.#reserve(1);
    this.#units[this.length++] = unit;
  }
  copy(start: number, length: number): void {
    this.#reserve(length);
    this.#units.copyWithin(this.length, start, start + length);
    this.length += length;
  }
  text(): string {
    return Buffer.from(this.#units.buffer, 0, this.length * 2).toString('utf16le');
  }
  #reserve(more: number): void {
    const needed = this.length + more;
    if (needed > this.#max) throw new LzError(`more than ${this.#max} characters`, true);
    if (needed <= this.#units.length) return;
    const larger = new Uint16Array(Math.min(this.#max, Math.max(needed, this.#units.length * 2)));
    larger.set(this.#units.subarray(0, this.length));
    this.#units = larger;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The six bits of each character, reversed: they arrive highest first, and codes are read from the lowest. */
const sextets = new Int8Array(256).fill(-1);
for (let i = 0; i < alphabet.length; i++) sextets[alphabet.charCodeAt(i)] = reversed(i);

function reversed(sextet: number): number {
  let bits = 0;
  for (let i = 0; i < 6; i++) bits |= ((sextet >>> i) & 1) << (5 - i);
  return bits;
}

/** Reads numbers of up to 24 bits, least significant bit first. */
function bitReader(base64: Buffer): (count: number) => number {
  let at = 0;
  let held = 0;
  let bits = 0;
  return (count) => {
    while (held < count) {
      const sextet = sextets[base64[at++] ?? 0] ?? -1;
      if (sextet < 0) throw new LzError('expected more base64, got: the end of the text or another character');
      bits |= sextet << held;
      held += 6;
    }
    const value = bits & ((1 << count) - 1);
    bits >>>= count;
    held -= count;
    return value;
  };
}
