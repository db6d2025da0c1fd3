import type { SASLOptions } from '@platformatic/kafka';

/** Returns a token for the next login, which must still be valid when the broker checks it. @throws KafkaTokenError */
export type TokenSource = () => Promise<string>;

/** Login with tokens. */
export interface BearerTokens {
  readonly token: TokenSource;
  /** SASL extensions that are sent with the token. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** There is no token, or a broker refuses it. */
export class KafkaTokenError extends Error {
  override name = 'KafkaTokenError';
  /** Retrying gives the same result. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isFinal = isFinal;
  }
}

/** Returns the options of SASL/OAUTHBEARER. */
export function bearerLogin({ token, extensions }: BearerTokens): SASLOptions {
  return {
    mechanism: 'OAUTHBEARER',
    token,
    ...(extensions && { oauthBearerExtensions: extensions }),
    // A broker accepts with an empty answer. With any other it expects one more message, and would refuse the next request.
    authBytesValidator: (answer, callback) => {
      if (answer.length === 0) callback(null, answer);
      else callback(refusal(answer));
    },
  };
}

/** The answer is an object with a `status`, such as `invalid_token`. */
function refusal(answer: Buffer): KafkaTokenError {
  const status = /"status"\s*:\s*"([a-z_]{1,40})"/.exec(answer.toString('utf8'))?.[1];
  return new KafkaTokenError(
    `the broker refuses the token (${status ?? 'without a reason'}): it must be valid at the clock of the broker, and have the issuer, ` +
      'audience and scope that the broker is configured for',
    true,
  );
}
