import { Buffer as BaseBuffer } from 'buffer/index.js';
import { base64OfBytes, base64UrlOfBytes, bytesOfBase64 } from './base64.ts';
import { decodeUtf8, encodeUtf8, utf8Length } from './utf8.ts';

export type GuestBuffer = BaseBuffer;

type Encoding = 'utf8' | 'hex' | 'base64' | 'base64url' | 'latin1' | 'ascii' | 'utf16le';

const encodings: Readonly<Record<string, Encoding>> = {
  utf8: 'utf8',
  'utf-8': 'utf8',
  hex: 'hex',
  base64: 'base64',
  base64url: 'base64url',
  latin1: 'latin1',
  binary: 'latin1',
  ascii: 'ascii',
  ucs2: 'utf16le',
  'ucs-2': 'utf16le',
  utf16le: 'utf16le',
  'utf-16le': 'utf16le',
};

function encodingOf(name: unknown): Encoding {
  if (name === undefined || name === null || name === '') return 'utf8';
  const encoding = encodings[String(name).toLowerCase()];
  if (encoding === undefined) throw new TypeError(`Unknown encoding: ${String(name)}`);
  return encoding;
}

const encoders: Readonly<Record<Encoding, (text: string) => Uint8Array<ArrayBuffer>>> = {
  utf8: encodeUtf8,
  hex: bytesOfHex,
  base64: bytesOfBase64,
  base64url: bytesOfBase64,
  latin1: bytesOfLatin1,
  ascii: bytesOfLatin1,
  utf16le: bytesOfUtf16,
};

const decoders: Readonly<Record<Encoding, (bytes: Uint8Array) => string>> = {
  utf8: (bytes) => decodeUtf8(bytes),
  hex: hexOfBytes,
  base64: base64OfBytes,
  base64url: base64UrlOfBytes,
  latin1: latin1OfBytes,
  ascii: (bytes) => latin1OfBytes(bytes.map((byte) => byte & 0x7f)),
  utf16le: utf16OfBytes,
};

export function bytesOfText(text: string, encoding?: unknown): Uint8Array<ArrayBuffer> {
  return encoders[encodingOf(encoding)](text);
}

export function textOfBytes(bytes: Uint8Array, encoding?: unknown): string {
  return decoders[encodingOf(encoding)](bytes);
}

/** Shares the memory. */
export function bufferOver(bytes: Uint8Array<ArrayBuffer>): GuestBuffer {
  return BaseBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> {
  const digits = /^(?:[0-9a-f]{2})*/i.exec(text)?.[0] ?? '';
  const bytes = new Uint8Array(digits.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hexOfBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += hexOfByte[byte] ?? '';
  return text;
}

function bytesOfLatin1(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

export function latin1OfBytes(bytes: Uint8Array): string {
  return textOfUnits(bytes);
}

function bytesOfUtf16(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 * text.length);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    bytes[2 * at] = unit & 255;
    bytes[2 * at + 1] = unit >> 8;
  }
  return bytes;
}

function utf16OfBytes(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length >> 1);
  for (let at = 0; at < units.length; at++) units[at] = (bytes[2 * at] ?? 0) | ((bytes[2 * at + 1] ?? 0) << 8);
  return textOfUnits(units);
}

function textOfUnits(units: Uint8Array | Uint16Array): string {
  let text = '';
  for (let at = 0; at < units.length; at += 8192) text += String.fromCharCode(...units.subarray(at, at + 8192));
  return text;
}

function lengthOfText(text: string, encoding: unknown): number {
  return encodingOf(encoding) === 'utf8' ? utf8Length(text) : bytesOfText(text, encoding).length;
}

/**
 * Gives the package's Buffer Node's reading and writing of text: broken UTF-8, loose base64 and hex, base64url. It is changed in
 * place, so that `Buffer(…)`, `instanceof` and its own results stay consistent.
 */
function asInNode(base: typeof BaseBuffer): typeof BaseBuffer {
  const { from: baseFrom, byteLength: baseLength } = base;
  Object.assign(base, {
    from: (value: unknown, ...rest: readonly unknown[]) =>
      typeof value === 'string'
        ? bufferOver(bytesOfText(value, rest[0]))
        : Reflect.apply(baseFrom, base, [value, ...rest]),
    byteLength: (value: unknown, encoding?: unknown) =>
      typeof value === 'string' ? lengthOfText(value, encoding) : Reflect.apply(baseLength, base, [value]),
    isEncoding: (name: unknown) => typeof name === 'string' && Object.hasOwn(encodings, name.toLowerCase()),
  });
  function toText(this: GuestBuffer, encoding?: unknown, start = 0, end = this.length): string {
    const from = Math.max(0, Math.trunc(Number(start)) || 0);
    const to = Math.max(from, Math.min(this.length, Math.trunc(Number(end)) || 0));
    return textOfBytes(new Uint8Array(this.buffer, this.byteOffset + from, Math.max(0, to - from)), encoding);
  }
  for (const name of ['toString', 'toLocaleString']) {
    Object.defineProperty(base.prototype, name, { value: toText, writable: true, configurable: true });
  }
  return base;
}

export const Buffer = asInNode(BaseBuffer);
