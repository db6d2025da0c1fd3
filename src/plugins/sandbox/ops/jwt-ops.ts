import { createRequire } from 'node:module';
import { recordArgument, textArgument } from './arguments.ts';
import { pemArgument } from './crypto-ops.ts';
import type { SyncOps } from './ops.ts';

interface JsonWebToken {
  sign(payload: string | object, key: string, options: object): string;
  verify(token: string, key: string, options: object): unknown;
  decode(token: string, options: object): unknown;
}

// The package has no types.
const jwt = createRequire(import.meta.url)('jsonwebtoken') as JsonWebToken;

const tokenMax = 65_536;

/** The package's verdict on a token is a value, so that the guest can throw errors of the same classes. */
export const jwtOps: SyncOps = {
  'jwt.sign': ([payload, key, options]) => {
    const subject = payloadOf(payload);
    const secret = pemArgument(key);
    const how = optionsOf(options);
    return attempt(() => jwt.sign(subject, secret, how));
  },
  'jwt.verify': ([token, key, options]) => {
    const text = tokenOf(token);
    const secret = pemArgument(key);
    const how = optionsOf(options);
    return attempt(() => jwt.verify(text, secret, how));
  },
  'jwt.decode': ([token, options]) => {
    const text = tokenOf(token);
    const how = optionsOf(options);
    return attempt(() => jwt.decode(text, how));
  },
};

function tokenOf(token: unknown): string {
  return textArgument(token, 'the token', tokenMax);
}

function payloadOf(payload: unknown): string | object {
  return typeof payload === 'string'
    ? textArgument(payload, 'the payload', tokenMax)
    : recordArgument(payload, 'the payload');
}

function optionsOf(options: unknown): object {
  return options === null || options === undefined ? {} : recordArgument(options, 'the options');
}

function attempt(work: () => unknown): unknown {
  try {
    return { ok: true, value: work() ?? null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { ok: false, name: error.name, message: error.message, ...timesOf(error) };
  }
}

function timesOf(error: Error): Record<string, string> {
  const times: Record<string, string> = {};
  for (const name of ['expiredAt', 'date']) {
    const time: unknown = Reflect.get(error, name);
    if (time instanceof Date) times[name] = time.toISOString();
  }
  return times;
}
