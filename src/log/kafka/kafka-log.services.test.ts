import { describe } from 'vitest';
import { describeEventLog, describeSharedEventLog } from '../../../test/conformance/event-log/event-log.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { createKafkaLog, openTestLog } from './kafka-log.fixture.ts';

describe.skipIf(kafkaBrokers === '')('with a broker', () => {
  describeEventLog('Kafka', openTestLog);
  describeSharedEventLog('Kafka', async () => {
    const log = createKafkaLog();
    // Creates the topics, as a process with a writer does.
    await (await log.openWriter()).close();
    return log;
  });
});
