import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { lanes, type EventLogReader, type EventLogWriter } from '../eventlog.ts';
import { createCursors } from '../../../test/support/eventlog/cursors.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { kafkaAccess, parseBroker } from '../kafka-connection/access.ts';
import type { OpenedLog, SharedLog } from '../../../test/conformance/event-log/event-log.ts';
import { topicName, type KafkaLogOptions } from './cluster.ts';
import type { SharedReaderDeps, SharedWriterDeps, SharedWriterOptions } from '../shared-log.ts';
import { openKafkaLogReaders } from './reader.ts';
import { openKafkaLogWriter } from './writer.ts';

export const plainAccess = kafkaAccess({
  tls: 'off',
  ca: '',
  certificate: '',
  key: '',
  sasl: undefined,
});

export function testOptions(more: Partial<KafkaLogOptions> = {}): KafkaLogOptions {
  const broker = parseBroker(kafkaBrokers);
  if (broker === undefined) throw new Error('expected KAFKA_BROKERS to name a broker');
  return {
    brokers: [broker],
    access: plainAccess,
    topicPrefix: `test-${randomUUID()}`,
    slots: 3,
    replication: 1,
    minInsync: 1,
    bodyBytesMax: 20_971_520,
    ...more,
  };
}

export interface TestKafkaLog extends SharedLog {
  readonly options: KafkaLogOptions;
  openWriter(options?: SharedWriterOptions, deps?: Partial<SharedWriterDeps>): Promise<EventLogWriter>;
  openReader(slot: number, deps?: SharedReaderDeps): Promise<EventLogReader>;
}

/** Creates a separate log on the broker; its topics are created when a writer is opened. */
export function createKafkaLog(more: Partial<KafkaLogOptions> = {}): TestKafkaLog {
  const options = testOptions(more);
  const cursors = createCursors();
  return {
    options,
    slots: options.slots,
    openWriter: (own = {}, deps = {}) =>
      openKafkaLogWriter({ ...options, pollMs: 20, ...own }, { cursors: cursors.read, ...deps }),
    openReader: async (slot, deps = {}) => {
      const readers = await openKafkaLogReaders({ ...options, deleteEveryMs: 50 }, deps);
      const reader = readers.reader(slot);
      const close = async (): Promise<void> => {
        await reader.close();
        await readers.close();
      };
      return { ...cursors.watched(reader, slot), close };
    },
    dispose: async () => {
      const admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
      await admin.deleteTopics({ topics: lanes.map((lane) => topicName(options.topicPrefix, lane)) });
      await admin.close();
    },
  };
}

/** Opens a writer and the reader of slot 0. */
export async function openTestLog(): Promise<OpenedLog> {
  const log = createKafkaLog({ slots: 1 });
  const writer = await log.openWriter();
  const reader = await log.openReader(0);
  return { writer, reader, dispose: () => log.dispose() };
}
