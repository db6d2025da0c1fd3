/** Data between isolate and process is JSON. Bytes are sent as text if they are text, otherwise as base64. */
import { bytesOfBase64, base64OfBytes } from './base64.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

export type Payload = { readonly text: string } | { readonly base64: string };

export function toPayload(data: string | Uint8Array): Payload {
  return typeof data === 'string' ? { text: data } : { base64: base64OfBytes(data) };
}

export function payloadBytes(payload: Payload): Uint8Array<ArrayBuffer> {
  return 'text' in payload ? encodeUtf8(payload.text) : bytesOfBase64(payload.base64);
}

export function payloadText(payload: Payload): string {
  return 'text' in payload ? payload.text : decodeUtf8(bytesOfBase64(payload.base64));
}

/** Joins chunks into one payload; text stays text. */
export function joinPayloads(chunks: readonly (string | Uint8Array)[]): Payload {
  if (chunks.every((chunk) => typeof chunk === 'string')) return { text: chunks.join('') };
  return { base64: base64OfBytes(concatBytes(chunks.map((chunk) => bytesOf(chunk)))) };
}

function concatBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function bytesOf(chunk: string | Uint8Array): Uint8Array {
  return typeof chunk === 'string' ? encodeUtf8(chunk) : chunk;
}
