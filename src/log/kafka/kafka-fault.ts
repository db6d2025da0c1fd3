import { networkFault } from '../../base/network-fault.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import { KafkaVersionError } from '../kafka-connection/connections.ts';
import {
  brokerAnswer,
  codeOf,
  errorChain,
  isCertificateFault,
  isLoginFault,
  isUserFault,
} from '../kafka-connection/fault-parts.ts';

/** The log on Kafka is not as it must be, and waiting does not help; the message says why and what to do next. */
export class KafkaLogError extends Error {
  override name = 'KafkaLogError';
}

export interface KafkaFault {
  readonly sentence: string;
  /** Trying again gives the same. */
  readonly isFinal: boolean;
}

/** What a broker answers that no waiting changes. Everything else it says may pass: an election, a restart, a quota. */
const finalAnswers: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED:
    'the user may not use the topics: give MILLRACE_KAFKA_USER the rights Read, Write, Describe, DescribeConfigs, Create and Delete on them',
  CLUSTER_AUTHORIZATION_FAILED:
    'the user may not use the cluster: give MILLRACE_KAFKA_USER the rights Create, Describe and IdempotentWrite on it, or make the topics by hand',
  UNSUPPORTED_SASL_MECHANISM: 'the broker does not know this way to log in: change MILLRACE_KAFKA_SASL',
  SASL_AUTHENTICATION_FAILED:
    'the broker refuses the user: check MILLRACE_KAFKA_USER, MILLRACE_KAFKA_PASSWORD and MILLRACE_KAFKA_SASL',
  ILLEGAL_SASL_STATE:
    'the broker asks for no user at this port: remove MILLRACE_KAFKA_USER, or name its port for SASL in KAFKA_BROKERS',
};

export function faultOf(error: unknown, { host, port }: KafkaBroker): KafkaFault {
  const at = `Kafka at ${host}:${port}`;
  if (error instanceof KafkaVersionError) return { sentence: error.message, isFinal: true };
  for (const each of errorChain(error)) {
    const said = finalAnswers[brokerAnswer(each)];
    if (said !== undefined) return { sentence: `${at}: ${said}`, isFinal: true };
    if (isCertificateFault(each)) {
      const advice = 'give its authority in MILLRACE_KAFKA_TLS_CA, or see MILLRACE_KAFKA_TLS';
      return {
        sentence: `${at} shows a certificate that cannot be trusted (${codeOf(each)}): ${advice}`,
        isFinal: true,
      };
    }
    if (isUserFault(each)) {
      return { sentence: `${at}: ${each.message} See MILLRACE_KAFKA_TLS`, isFinal: true };
    }
  }
  const atLogin = errorChain(error).some(isLoginFault);
  const advice = atLogin ? '; it ended the connection while the user logged in: it may ask for TLS' : '';
  return { sentence: `${at} did not answer as expected: ${networkFault(error)}${advice}`, isFinal: false };
}
