import { callLater, isCallback } from '../call-later.ts';
import type { LazyDeps } from '../modules.ts';

type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly name: string;
      readonly message: string;
      readonly expiredAt?: string;
      readonly date?: string;
    };

class JsonWebTokenError extends Error {
  override name = 'JsonWebTokenError';
}

class TokenExpiredError extends JsonWebTokenError {
  override name = 'TokenExpiredError';
  readonly expiredAt: Date;

  constructor(message: string, expiredAt: Date) {
    super(message);
    this.expiredAt = expiredAt;
  }
}

class NotBeforeError extends JsonWebTokenError {
  override name = 'NotBeforeError';
  readonly date: Date;

  constructor(message: string, date: Date) {
    super(message);
    this.date = date;
  }
}

/** The package jsonwebtoken, which runs outside; keys are text or PEM. */
export const create = ({ bridge }: LazyDeps): unknown => {
  const ask = (op: string, ...args: readonly unknown[]): unknown => {
    const outcome = bridge.callSync(`jwt.${op}`, args) as Outcome;
    if (!outcome.ok) throw errorOf(outcome);
    return outcome.value;
  };
  const withCallback =
    (op: string) =>
    (subject: unknown, key: unknown, ...rest: readonly unknown[]): unknown => {
      const [options, callback] = typeof rest[0] === 'function' ? [null, rest[0]] : [rest[0] ?? null, rest[1]];
      const work = (): unknown => ask(op, subject, keyText(key), options);
      if (!isCallback(callback)) return work();
      void callLater(callback, work);
      return undefined;
    };
  return {
    sign: withCallback('sign'),
    verify: withCallback('verify'),
    decode: (token: unknown, options?: unknown) => ask('decode', String(token), options ?? null),
    JsonWebTokenError,
    TokenExpiredError,
    NotBeforeError,
  };
};

function keyText(key: unknown): string {
  if (typeof key === 'function') throw new TypeError('jsonwebtoken: expected a key, got a function that returns one');
  const bare: unknown = typeof key === 'object' && key !== null && 'key' in key ? key.key : key;
  return String(bare);
}

function errorOf(outcome: Extract<Outcome, { ok: false }>): Error {
  const { name, message } = outcome;
  if (name === 'TokenExpiredError') return new TokenExpiredError(message, new Date(outcome.expiredAt ?? Number.NaN));
  if (name === 'NotBeforeError') return new NotBeforeError(message, new Date(outcome.date ?? Number.NaN));
  if (name === 'JsonWebTokenError') return new JsonWebTokenError(message);
  return Object.assign(new Error(message), { name });
}
