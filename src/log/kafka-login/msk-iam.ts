import { createHash, createHmac } from 'node:crypto';
import {
  presignedQuery,
  queryText,
  type AwsCredentials,
  type DigestMaker,
} from '../../plugins/sandbox/guest/lib/lazy/aws-signature.ts';
import { KafkaTokenError, type TokenSource } from '../kafka-connection/bearer-login.ts';

/** Longest that MSK accepts. Connections log in again before that. */
const expiresSeconds = 900;

interface Deps {
  /** Returns the current credentials. */
  readonly credentials: () => Promise<AwsCredentials>;
  /** ms since the epoch. */
  readonly now: () => number;
}

const crypto: DigestMaker = { createHash, createHmac: (name, key) => createHmac(name, key as string | Uint8Array) };

/**
 * Signs tokens for the IAM access control of MSK: the base64url form of a presigned request for `kafka-cluster:Connect`. Nothing is sent
 * for it, so every login gets a token with its full life.
 */
export function createMskTokens(region: string, { credentials, now }: Deps): TokenSource {
  return async () => {
    const host = `kafka.${region}.amazonaws.com`;
    const request = { method: 'GET', host, path: '/', query: { Action: 'kafka-cluster:Connect' } };
    const scope = { region, service: 'kafka-cluster', now: now(), expiresSeconds };
    const query = presignedQuery(crypto, request, await found(credentials), scope);
    // Not signed: it names the client in the logs of MSK.
    return Buffer.from(`https://${host}/?${queryText(query)}&User-Agent=millrace`).toString('base64url');
  };
}

/**
 * Returns the credentials that the AWS SDK finds: in the environment, of a web identity (IRSA), a profile, the container (EKS pod identity,
 * ECS) or the instance (metadata service, version 2). They are renewed before they expire.
 */
export function machineCredentials(region: string): Deps['credentials'] {
  let provider: Deps['credentials'] | undefined;
  return async () => {
    const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
    provider ??= fromNodeProviderChain({ clientConfig: { region } });
    return await provider();
  };
}

/** Message of the SDK. */
const noneFound = 'Could not load credentials from any providers';
const reasonLengthMax = 300;

async function found(credentials: Deps['credentials']): Promise<AwsCredentials> {
  try {
    return await credentials();
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    const isNone = cause.message === noneFound;
    const sentence = isNone
      ? 'expected AWS credentials for MILLRACE_KAFKA_SASL=AWS_MSK_IAM, got none: give the process a role (web identity, pod identity, ' +
        'task or instance role), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
      : 'expected AWS credentials for MILLRACE_KAFKA_SASL=AWS_MSK_IAM, got ' +
        `${`${cause.name}: ${cause.message}`.slice(0, reasonLengthMax)}: check the role of the process, and who may assume it`;
    throw new KafkaTokenError(sentence, isNone, { cause });
  }
}
