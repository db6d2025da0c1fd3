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

export interface KafkaErrorPlace {
  readonly place: KafkaPlace;
  readonly broker: KafkaBroker;
}

/** What Kafka answers, by its own names. Everything else it says may pass: an election, a restart, a quota. */
const finalAnswers: Readonly<Record<string, (place: KafkaPlace) => string>> = {
  UNKNOWN_TOPIC_OR_PARTITION: ({ topic }) =>
    `there is no topic "${topic}": check its name, and that the user may see it`,
  UNKNOWN_TOPIC_ID: ({ topic }) => `the topic "${topic}" was deleted while it was read: begin the import anew`,
  INVALID_TOPIC_EXCEPTION: ({ topic }) => `"${topic}" can be no topic: check its name`,
  TOPIC_AUTHORIZATION_FAILED: ({ topic }) =>
    `the user may not read the topic "${topic}": give it the rights Describe and Read on the topic`,
  CLUSTER_AUTHORIZATION_FAILED: () => 'the user may not look at the cluster: give it the right Describe on the cluster',
  UNSUPPORTED_SASL_MECHANISM: ({ sasl }) =>
    `the broker does not know the SASL mechanism ${sasl?.mechanism ?? ''}: change the setting "mechanism"`,
  SASL_AUTHENTICATION_FAILED: () => 'the broker refuses the user: check "user", "password" and "mechanism"',
  ILLEGAL_SASL_STATE: () => 'the broker asks for no user at this port: leave out "user", or take its port for SASL',
};

const endedByBroker: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** As a source says it; what is one already stays as it is. */
export function kafkaError(error: unknown, { place, broker }: KafkaErrorPlace): unknown {
  if (error instanceof SourceError || error instanceof SourceWaitError) return error;
  if (error instanceof KafkaVersionError) return new SourceError(error.message, { cause: error });
  const at = `Kafka at ${broker.host}:${broker.port}`;
  const cause = error;
  for (const each of errorChain(error)) {
    if (each instanceof OutboundError && !each.retry) {
      return new SourceError(`${at} cannot be reached: ${each.message}`, { cause });
    }
    const said = finalAnswers[brokerAnswer(each)]?.(place);
    if (said !== undefined) return new SourceError(`${at}: ${said}`, { cause });
    if (isCertificateFault(each)) {
      const advice = 'give the authority that signed it as "ca", or see the setting "tls"';
      return new SourceError(`${at} shows a certificate that cannot be trusted (${codeOf(each)}): ${advice}`, {
        cause,
      });
    }
    if (isUserFault(each)) {
      return new SourceError(`${at}: ${messageOf(each)} See the setting "tls"`, { cause });
    }
  }
  if (errorChain(error).some(isLoginFault)) {
    const advice = 'it may ask for TLS (the setting "tls"), or for another mechanism';
    return new SourceWaitError(`${at} ended the connection while the user logged in: ${advice}`, {
      unlimited: false,
      cause,
    });
  }
  const broken = errorChain(error).find(isBrokenAnswer);
  if (broken !== undefined) {
    const advice = 'see whether it is a broker of Kafka';
    return new SourceWaitError(`${at} gave no answer to what it was asked: ${broken.message}; ${advice}`, {
      unlimited: false,
      cause,
    });
  }
  const fault = networkFault(error);
  const ended = endedByBroker.has(fault) || fault === 'Connection closed';
  const advice = ended ? '; a broker that asks for TLS or a user does so' : '';
  return new SourceWaitError(`${at} did not answer as expected: ${messageOf(error)} (${fault})${advice}`, {
    unlimited: true,
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
