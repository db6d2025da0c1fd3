import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { SASLOptions } from '@platformatic/kafka';

export const tlsChoices = ['auto', 'verify', 'no verify', 'off'] as const;
export type TlsChoice = (typeof tlsChoices)[number];
/** Of users with a password. */
export const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
export type SaslMechanism = (typeof saslMechanisms)[number];

const standardPort = 9092;

export interface KafkaBroker {
  readonly host: string;
  readonly port: number;
}

/** Encryption and login of a cluster. */
export interface KafkaAccess {
  /** `undefined` means no encryption. */
  readonly tls: Pick<TlsOptions, 'rejectUnauthorized' | 'ca' | 'cert' | 'key'> | undefined;
  /** `undefined` means no login. */
  readonly sasl: SASLOptions | undefined;
}

/** The values of the settings; an empty string means not set. */
export interface AccessTexts {
  readonly tls: TlsChoice;
  /** PEM. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
  /** `undefined` means no login. */
  readonly sasl: SASLOptions | undefined;
}

/** Returns the login of a user; `undefined` for an empty name. */
export function passwordLogin(user: string, password: string, mechanism: SaslMechanism): SASLOptions | undefined {
  return user === '' ? undefined : { mechanism, username: user, password };
}

/** Returns the access for the settings. `auto` encrypts if there is something to protect or to verify. */
export function kafkaAccess(texts: AccessTexts): KafkaAccess {
  const { tls, ca, certificate: cert, key, sasl } = texts;
  const isOff = tls === 'auto' ? sasl === undefined && ca === '' && key === '' : tls === 'off';
  return {
    tls: isOff
      ? undefined
      : { rejectUnauthorized: tls !== 'no verify', ...(ca !== '' && { ca }), ...(key !== '' && { cert, key }) },
    sasl,
  };
}

/** Parses `host:port`, with a name, an IPv4 or a bracketed IPv6 address; the default port is 9092. Returns undefined if invalid. */
export function parseBroker(text: string): KafkaBroker | undefined {
  const [, bracketed, plain, port = String(standardPort)] =
    /^(?:\[([\da-f:]+)\]|([^\s:/@]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host, port: Number(port) };
}
