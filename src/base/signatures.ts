import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';

/** Ed25519 signatures over canonical JSON. Private keys are PKCS #8 as PEM; public ones SPKI as base64. */

export function createSigningKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export function publicKeyOf(privateKey: string): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
}

export function publicKeyPem(publicKey: string): string {
  return keyFrom(publicKey).export({ type: 'spki', format: 'pem' }).toString();
}

/** Returns the signature as base64. */
export function signJson(value: unknown, privateKey: string): string {
  return sign(null, Buffer.from(canonicalJson(value)), createPrivateKey(privateKey)).toString('base64');
}

/** False also for a key or signature that is not in its form. */
export function isSigned(value: unknown, { publicKey, signature }: { publicKey: string; signature: string }): boolean {
  try {
    return verify(null, Buffer.from(canonicalJson(value)), keyFrom(publicKey), Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

function keyFrom(publicKey: string) {
  return createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' });
}
