import { networkFault } from '../../base/network-fault.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import { KafkaTokenError } from '../kafka-connection/bearer-login.ts';
import { KafkaVersionError } from '../kafka-connection/connections.ts';
import {
  brokerAnswer,
  codeOf,
  errorChain,
  isCertificateFault,
  isLoginFault,
  isUserFault,
} from '../kafka-connection/fault-parts.ts';

export interface KafkaFault {
  readonly sentence: string;
  /** Retrying gives the same result. */
  readonly isFinal: boolean;
}

/** Errors of brokers that waiting does not change. All others may be temporary: an election, a restart, a quota. */
const finalAnswers: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED:
    'the user may not use the topics: give MILLRACE_KAFKA_USER the rights Read, Write, Describe, DescribeConfigs, Create and Delete on them',
  CLUSTER_AUTHORIZATION_FAILED:
    'the user may not use the cluster: give MILLRACE_KAFKA_USER the rights Create, Describe and IdempotentWrite on it, or create the topics by hand',
  GROUP_AUTHORIZATION_FAILED:
    'the user may not use the consumer group: give MILLRACE_KAFKA_USER the right Read on it, or set MILLRACE_KAFKA_GROUP=none',
  UNKNOWN_MEMBER_ID:
    'another program is a member of the consumer group: set MILLRACE_KAFKA_GROUP to a name that nothing else uses',
  UNSUPPORTED_SASL_MECHANISM: 'the broker does not support this login mechanism: change MILLRACE_KAFKA_SASL',
  SASL_AUTHENTICATION_FAILED:
    'the broker refuses the user: check MILLRACE_KAFKA_USER, MILLRACE_KAFKA_PASSWORD and MILLRACE_KAFKA_SASL; with AWS_MSK_IAM, whether ' +
    'the policy of the role permits kafka-cluster:Connect',
  ILLEGAL_SASL_STATE:
    'the broker expects no user at this port: remove MILLRACE_KAFKA_USER, or use its SASL port in KAFKA_BROKERS',
};

export function faultOf(error: unknown, { host, port }: KafkaBroker): KafkaFault {
  const at = `Kafka at ${host}:${port}`;
  if (error instanceof KafkaVersionError) return { sentence: error.message, isFinal: true };
  for (const each of errorChain(error)) {
    if (each instanceof KafkaTokenError) return { sentence: `${at}: ${each.message}`, isFinal: each.isFinal };
    const said = finalAnswers[brokerAnswer(each)];
    if (said !== undefined) return { sentence: `${at}: ${said}`, isFinal: true };
    if (isCertificateFault(each)) {
      const advice = 'give its authority in MILLRACE_KAFKA_TLS_CA, or see MILLRACE_KAFKA_TLS';
      return {
        sentence: `${at} has an untrusted certificate (${codeOf(each)}): ${advice}`,
        isFinal: true,
      };
    }
    if (isUserFault(each)) {
      return { sentence: `${at}: ${each.message} See MILLRACE_KAFKA_TLS`, isFinal: true };
    }
  }
  const answer = errorChain(error).map(brokerAnswer).find(Boolean);
  if (answer !== undefined) return { sentence: `${at} answered ${answer}`, isFinal: false };
  const atLogin = errorChain(error).some(isLoginFault);
  const advice = atLogin ? '; it closed the connection during login: it may require TLS' : '';
  return { sentence: `${at} did not answer as expected: ${networkFault(error)}${advice}`, isFinal: false };
}
