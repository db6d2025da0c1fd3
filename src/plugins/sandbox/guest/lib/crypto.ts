import { bytesOfBase64 } from './base64.ts';
import type { Bridge } from './bridge.ts';
import { bufferOver, bytesOfText, textOfBytes, type GuestBuffer } from './buffer.ts';
import { callLater, isCallback } from './call-later.ts';
import { bytesOfView } from './text-coding.ts';
import { joinPayloads, toPayload, type Payload } from './wire.ts';

/** The part of Node's crypto that plugins need: data is collected here and processed outside. */
export function createCrypto(bridge: Bridge): Record<string, unknown> {
  const ask = (op: string, ...args: readonly unknown[]): unknown => bridge.callSync(`crypto.${op}`, args);
  const bytes = (op: string, ...args: readonly unknown[]): GuestBuffer =>
    bufferOver(bytesOfBase64(String(ask(op, ...args))));
  const hash = (algorithm: unknown, data: unknown, encoding: unknown = 'hex'): unknown =>
    createDigest((chunks) => bytes('hash', String(algorithm), chunks))
      .update(data)
      .digest(encoding);
  return {
    createHash: (algorithm: unknown) => createDigest((data) => bytes('hash', String(algorithm), data)),
    createHmac: (algorithm: unknown, key: unknown) => {
      const secret = payloadOf(key, 'utf8');
      return createDigest((data) => bytes('hmac', String(algorithm), secret, data));
    },
    createSign: (algorithm: unknown) => createSigner((key, data) => bytes('sign', String(algorithm), key, data)),
    createVerify: (algorithm: unknown) =>
      createVerifier((key, data, signature) => ask('verify', String(algorithm), key, data, signature) === true),
    hash,
    randomBytes: (size: unknown, callback?: unknown) => answer(callback, () => bytes('randomBytes', Number(size))),
    randomInt: (...range: readonly unknown[]) => randomInt(bytes, range),
    randomUUID: () => String(ask('randomUUID')),
    timingSafeEqual: (a: unknown, b: unknown) => timingSafeEqual(viewOf(a), viewOf(b)),
    getHashes: () => ask('getHashes'),
  };
}

function answer<T>(callback: unknown, work: () => T): T | undefined {
  if (!isCallback(callback)) return work();
  void callLater(callback, work);
  return undefined;
}

function collector() {
  const chunks: (string | Uint8Array)[] = [];
  return {
    add: (data: unknown, encoding: unknown): void => {
      chunks.push(chunkOf(data, encoding));
    },
    all: (): Payload => joinPayloads(chunks),
  };
}

/** Text stays text and crosses unchanged. */
function chunkOf(data: unknown, encoding: unknown): string | Uint8Array {
  if (typeof data !== 'string') return viewOf(data).slice();
  return isUtf8(encoding) ? data.toWellFormed() : bytesOfText(data, encoding);
}

function isUtf8(encoding: unknown): boolean {
  return encoding === undefined || encoding === null || /^utf-?8$/i.test(String(encoding));
}

function payloadOf(data: unknown, encoding: unknown): Payload {
  return toPayload(chunkOf(data, encoding));
}

function viewOf(data: unknown): Uint8Array {
  if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return bytesOfView(data);
  throw new TypeError(`expected text, a Buffer or another view of bytes, got ${data === null ? 'null' : typeof data}`);
}

interface Digest {
  update(data: unknown, encoding?: unknown): Digest;
  digest(encoding?: unknown): GuestBuffer | string;
}

function createDigest(work: (data: Payload) => GuestBuffer): Digest {
  const collected = collector();
  let done = false;
  const open = (): void => {
    if (done) throw Object.assign(new Error('Digest already called'), { code: 'ERR_CRYPTO_HASH_FINALIZED' });
  };
  const digest: Digest = {
    update: (data, encoding) => {
      open();
      collected.add(data, encoding);
      return digest;
    },
    digest: (encoding) => {
      open();
      done = true;
      return encoded(work(collected.all()), encoding);
    },
  };
  return digest;
}

function encoded(bytes: GuestBuffer, encoding: unknown): GuestBuffer | string {
  return encoding === undefined || encoding === null || encoding === 'buffer' ? bytes : textOfBytes(bytes, encoding);
}

/** Keys are PEM text, or an object with it as `key`. */
function keyOf(given: unknown): string {
  const key: unknown = typeof given === 'object' && given !== null && 'key' in given ? given.key : given;
  if (typeof key === 'string') return key;
  return textOfBytes(viewOf(key));
}

function createSigner(work: (key: string, data: Payload) => GuestBuffer) {
  const collected = collector();
  const signer = {
    update: (data: unknown, encoding?: unknown) => {
      collected.add(data, encoding);
      return signer;
    },
    write: (data: unknown, encoding?: unknown) => signer.update(data, encoding),
    end: () => signer,
    sign: (key: unknown, encoding?: unknown) => encoded(work(keyOf(key), collected.all()), encoding),
  };
  return signer;
}

function createVerifier(work: (key: string, data: Payload, signature: Payload) => boolean) {
  const collected = collector();
  const verifier = {
    update: (data: unknown, encoding?: unknown) => {
      collected.add(data, encoding);
      return verifier;
    },
    write: (data: unknown, encoding?: unknown) => verifier.update(data, encoding),
    end: () => verifier,
    verify: (key: unknown, signature: unknown, encoding?: unknown) =>
      work(keyOf(key), collected.all(), toPayload(signatureBytes(signature, encoding))),
  };
  return verifier;
}

function signatureBytes(signature: unknown, encoding: unknown): Uint8Array {
  return typeof signature === 'string' ? bytesOfText(signature, encoding) : viewOf(signature);
}

function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) throw new RangeError('Input buffers must have the same byte length');
  let difference = 0;
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}

/** From 48 random bits: the bias is below 2⁻¹⁶ for ranges up to 2³². */
function randomInt(bytes: (op: string, size: number) => GuestBuffer, range: readonly unknown[]): number | undefined {
  const numbers = range.filter((value) => typeof value === 'number');
  const [min, max] = numbers.length > 1 ? [numbers[0] ?? 0, numbers[1] ?? 0] : [0, numbers[0] ?? 0];
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max <= min || max - min >= 2 ** 48) {
    throw new RangeError(`randomInt: expected whole numbers min < max, less than 2⁴⁸ apart, got ${min} and ${max}`);
  }
  const number = min + (bytes('randomBytes', 6).readUIntBE(0, 6) % (max - min));
  return answer(range.at(-1), () => number);
}
