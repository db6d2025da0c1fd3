import * as crypto from 'node:crypto';
import { dataArgument, textArgument, wholeNumberArgument } from './arguments.ts';
import type { SyncOps } from './ops.ts';

/** Maximum size of a key in characters: larger ones take seconds to compute with. */
const keyMax = 16_384;
const randomBytesMax = 65_536;

/** Bytes are returned as base64. */
export const cryptoOps: SyncOps = {
  'crypto.hash': ([algorithm, data]) =>
    crypto.createHash(algorithmOf(algorithm)).update(dataArgument(data, 'the data')).digest('base64'),
  'crypto.hmac': ([algorithm, key, data]) =>
    crypto
      .createHmac(algorithmOf(algorithm), dataArgument(key, 'the key', keyMax * 4))
      .update(dataArgument(data, 'the data'))
      .digest('base64'),
  'crypto.sign': ([algorithm, key, data]) =>
    crypto.sign(signatureOf(algorithm), dataArgument(data, 'the data'), privateKey(key)).toString('base64'),
  'crypto.verify': ([algorithm, key, data, signature]) =>
    crypto.verify(
      signatureOf(algorithm),
      dataArgument(data, 'the data'),
      publicKey(key),
      dataArgument(signature, 'the signature', keyMax),
    ),
  'crypto.randomBytes': ([size]) =>
    crypto.randomBytes(wholeNumberArgument(size, 'the number of bytes', 0, randomBytesMax)).toString('base64'),
  'crypto.randomUUID': () => crypto.randomUUID(),
  'crypto.getHashes': () => crypto.getHashes(),
};

const hashes = new Set(crypto.getHashes().map((name) => name.toLowerCase()));

function algorithmOf(given: unknown): string {
  const name = textArgument(given, 'the name of the hash', 64);
  if (!hashes.has(name.toLowerCase())) {
    throw new Error(`Digest method not supported: ${name}; use sha256, sha512, sha1 or md5, or see crypto.getHashes()`);
  }
  return name;
}

/** `RSA-SHA256` and `sha256` are equivalent: the key determines the rest. */
function signatureOf(given: unknown): string {
  return algorithmOf(textArgument(given, 'the name of the hash', 64).replace(/^(rsa|ecdsa)-/i, ''));
}

/** Encrypted keys are refused: their author decides how much time they cost. */
export function pemArgument(given: unknown): string {
  const text = textArgument(given, 'the key', keyMax);
  if (text.includes('ENCRYPTED')) throw new Error('expected a PEM key without a passphrase, got an encrypted one');
  return text;
}

function privateKey(given: unknown): crypto.KeyObject {
  const text = pemArgument(given);
  return keyOrError(() => crypto.createPrivateKey(text), 'private');
}

function publicKey(given: unknown): crypto.KeyObject {
  const text = pemArgument(given);
  return keyOrError(() => crypto.createPublicKey(text), 'public');
}

/** OpenSSL's own error may contain parts of the text. */
function keyOrError(read: () => crypto.KeyObject, kind: string): crypto.KeyObject {
  try {
    return read();
  } catch (cause) {
    throw new Error(`expected a ${kind} key as PEM text, got other text`, { cause });
  }
}
