import { networkFault } from '../../base/network-fault.ts';
import type { KafkaBroker } from '../../log/kafka-connection/access.ts';
import { KafkaVersionError } from '../../log/kafka-connection/connections.ts';
import {
  brokerAnswer,
  codeOf,
  errorChain,
  isBrokenAnswer,
  isCertificateFault,
  isLoginFault,
  isUserFault,
} from '../../log/kafka-connection/fault-parts.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import type { KafkaPlace } from './kafka-place.ts';

interface KafkaErrorPlace {
  readonly place: KafkaPlace;
  readonly broker: KafkaBroker;
}

/** Permanent errors by Kafka's names. All others may be temporary: an election, a restart, a quota. */
const finalAnswers: Readonly<Record<string, (place: KafkaPlace) => string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: ({ topic }) =>
    `the topic "${topic}" does not exist: check its name and the user's permissions`,
  UNKNOWN_TOPIC_ID: ({ topic }) => `the topic "${topic}" was deleted while it was read: start the import again`,
  INVALID_TOPIC_EXCEPTION: ({ topic }) => `"${topic}" is not a valid topic name: check it`,
  TOPIC_AUTHORIZATION_FAILED: ({ topic }) =>
    `the user is not allowed to read the topic "${topic}": grant it Describe and Read on the topic`,
  CLUSTER_AUTHORIZATION_FAILED: () => 'the user must not describe the cluster: grant it Describe on the cluster',
  UNSUPPORTED_SASL_MECHANISM: ({ sasl }) =>
    `the broker does not support the SASL mechanism ${sasl?.mechanism ?? ''}: change the setting "mechanism"`,
  SASL_AUTHENTICATION_FAILED: () => 'the broker rejected the user: check "user", "password" and "mechanism"',
  ILLEGAL_SASL_STATE: () => 'the broker does not support login at this port: clear "user", or use its port for SASL',
};

const endedByBroker: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Converts an error to a source error; source errors stay. */
export function kafkaError(error: unknown, { place, broker }: KafkaErrorPlace): unknown {
  if (error instanceof SourceError || error instanceof SourceWaitError) return error;
  if (error instanceof KafkaVersionError) return new SourceError(error.message, { cause: error });
  const at = `Kafka at ${broker.host}:${broker.port}`;
  const cause = error;
  for (const each of errorChain(error)) {
    if (each instanceof OutboundError && !each.retry) {
      return new SourceError(`${at} cannot be reached: ${each.message}`, { cause });
    }
    const message = finalAnswers[brokerAnswer(each)]?.(place);
    if (message !== undefined) return new SourceError(`${at}: ${message}`, { cause });
    if (isCertificateFault(each)) {
      const advice = 'set "ca" to the authority that signed it, or see the setting "tls"';
      return new SourceError(`${at} shows a certificate that cannot be trusted (${codeOf(each)}): ${advice}`, {
        cause,
      });
    }
    if (isUserFault(each)) {
      return new SourceError(`${at}: ${messageOf(each)} See the setting "tls"`, { cause });
    }
  }
  if (errorChain(error).some(isLoginFault)) {
    const advice = 'it may require TLS (the setting "tls") or another mechanism';
    return new SourceWaitError(`${at} ended the connection while the user logged in: ${advice}`, {
      unlimited: false,
      cause,
    });
  }
  const broken = errorChain(error).find(isBrokenAnswer);
  if (broken !== undefined) {
    const advice = 'check that it is a Kafka broker';
    return new SourceWaitError(`${at} sent an invalid response: ${broken.message}; ${advice}`, {
      unlimited: false,
      cause,
    });
  }
  const fault = networkFault(error);
  const ended = endedByBroker.has(fault) || fault === 'Connection closed';
  const advice = ended ? '; a broker that requires TLS or a user does so' : '';
  return new SourceWaitError(`${at} did not answer as expected: ${messageOf(error)} (${fault})${advice}`, {
    unlimited: true,
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
