import { createHash, createPrivateKey, createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { wrongSetting } from '../../plugins/plugin.ts';

export interface SnowflakeUser {
  /** `myorg-account`, or a locator with its region: `xy12345.eu-central-1`. */
  readonly account: string;
  readonly user: string;
  /** PEM. */
  readonly privateKey: string;
  /** Empty for a key that is not encrypted. */
  readonly passphrase: string;
}

/** Snowflake accepts at most an hour. */
const lifetimeMs = 3_000_000;
/** A token is renewed this long before it expires. */
const earlyMs = 300_000;

/**
 * Returns tokens of a key pair, as of the present time. Throws SettingsError for an invalid key.
 * https://docs.snowflake.com/en/developer-guide/sql-api/authenticating
 */
export function createSnowflakeToken(of: SnowflakeUser, now: () => number): { token(): string; forget(): void } {
  const key = keyOf(of);
  // Without the region, and in capitals.
  const name = `${of.account.replace(/\..*$/, '')}.${of.user}`.toUpperCase();
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const fingerprint = `SHA256:${createHash('sha256').update(spki).digest('base64')}`;
  let last: { readonly text: string; readonly until: number } | undefined;
  return {
    forget: () => (last = undefined),
    token: () => {
      if (last !== undefined && now() < last.until) return last.text;
      const iat = Math.floor(now() / 1000);
      const claims = { iss: `${name}.${fingerprint}`, sub: name, iat, exp: iat + lifetimeMs / 1000 };
      const text = [{ alg: 'RS256', typ: 'JWT' }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const signature = createSign('RSA-SHA256').update(text).sign(key, 'base64url');
      last = { text: `${text}.${signature}`, until: now() + lifetimeMs - earlyMs };
      return last.text;
    },
  };
}

function keyOf({ privateKey, passphrase }: SnowflakeUser): KeyObject {
  try {
    const key = createPrivateKey({ key: privateKey, ...(passphrase !== '' && { passphrase }) });
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch (cause) {
    // The engine's message is not shown: it may contain a part of the key.
    throw wrongSetting('private_key', 'expected an RSA key in PEM, with its passphrase if it is encrypted', { cause });
  }
  throw wrongSetting('private_key', 'expected an RSA key, as Snowflake requires');
}
