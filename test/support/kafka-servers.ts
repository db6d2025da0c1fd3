/** The broker started by tools/with-kafka.ts; empty without one, and the tests that need it are skipped. */
const { env } = process;

/** Without encryption and user. */
export const kafkaBrokers = env['KAFKA_BROKERS'] ?? '';

/** The same broker for clients with unsecured tokens. */
export const kafkaTokenBrokers = env['KAFKA_TOKEN_BROKERS'] ?? '';

/** The same broker with TLS, for a user with a password. */
export const kafkaTls = {
  brokers: env['KAFKA_TLS_BROKERS'] ?? '',
  caFile: env['KAFKA_TLS_CA_FILE'] ?? '',
  user: env['KAFKA_USER'] ?? '',
  password: env['KAFKA_PASSWORD'] ?? '',
};
