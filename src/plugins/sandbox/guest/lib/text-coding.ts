import { base64OfBytes } from './base64.ts';
import { bytesOfText, latin1OfBytes, textOfBytes } from './buffer.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

export class TextEncoder {
  readonly encoding = 'utf-8';

  encode(text: unknown = ''): Uint8Array {
    return encodeUtf8(String(text));
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let read = 0;
    let written = 0;
    for (const character of text) {
      const bytes = encodeUtf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

const labels: Readonly<Record<string, string>> = {
  utf8: 'utf-8',
  'utf-8': 'utf-8',
  'unicode-1-1-utf-8': 'utf-8',
  'utf-16le': 'utf-16le',
  'utf-16': 'utf-16le',
};

/** Decodes whole texts in UTF-8 and UTF-16LE. */
export class TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;

  constructor(label = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    const encoding = labels[String(label).trim().toLowerCase()];
    if (encoding === undefined) {
      throw new RangeError(`expected the encoding utf-8 or utf-16le, got "${label}"; decode it with Buffer instead`);
    }
    this.encoding = encoding;
    this.fatal = Boolean(options.fatal);
    this.ignoreBOM = Boolean(options.ignoreBOM);
  }

  decode(data?: ArrayBuffer | ArrayBufferView, options: { stream?: boolean } = {}): string {
    if (options.stream) throw new TypeError('TextDecoder decodes only whole texts here; collect the chunks first');
    const bytes = bytesOfView(data);
    const text = this.encoding === 'utf-8' ? decodeUtf8(bytes, this.fatal) : textOfBytes(bytes, 'utf16le');
    return !this.ignoreBOM && text.startsWith('\ufeff') ? text.slice(1) : text;
  }
}

/** Returns the bytes of an ArrayBuffer or a view of one; shares the memory. */
export function bytesOfView(data: ArrayBuffer | ArrayBufferView | undefined): Uint8Array {
  if (data === undefined) return new Uint8Array(0);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array(data);
}

function invalidCharacter(message: string): Error {
  const error = new Error(message);
  error.name = 'InvalidCharacterError';
  return error;
}

export function btoa(value: unknown): string {
  const text = String(value);
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 255) throw invalidCharacter('btoa takes characters up to U+00FF; use Buffer for others');
  }
  return base64OfBytes(bytesOfText(text, 'latin1'));
}

export function atob(value: unknown): string {
  const text = String(value).replace(/[\t\n\f\r ]/g, '');
  const bare = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text;
  if (bare.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(bare)) throw invalidCharacter('atob got text that is not base64');
  return latin1OfBytes(bytesOfText(bare, 'base64'));
}
