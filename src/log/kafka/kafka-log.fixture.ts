import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { lanes, type EventLogReader, type EventLogWriter, type Lane } from '../eventlog.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { kafkaAccess, parseBroker } from '../kafka-connection/access.ts';
import type { OpenedLog, SharedLog } from '../../../test/conformance/event-log/event-log.ts';
import { topicName, type KafkaLogOptions } from './cluster.ts';
import { openKafkaLogReaders, type KafkaReaderDeps, type KafkaReaderOptions } from './reader.ts';
import { openKafkaLogWriter, type KafkaWriterDeps, type KafkaWriterOptions } from './writer.ts';

export const plainAccess = kafkaAccess({
  tls: 'off',
  ca: '',
  certificate: '',
  key: '',
  user: '',
  password: '',
  mechanism: 'PLAIN',
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

/** The cursors that a metadata store would keep. */
function createCursors() {
  const seqs: Record<Lane, Map<number, number>> = { live: new Map(), historical: new Map() };
  return {
    read: async () => seqs,
    /** Wraps a reader so that its commits are recorded, as those of a pipeline are. */
    watched: (reader: EventLogReader, slot: number): EventLogReader => ({
      id: reader.id,
      read: (lane, afterSeq, limits) => reader.read(lane, afterSeq, limits),
      waitForAppend: (timeoutMs) => reader.waitForAppend(timeoutMs),
      close: () => reader.close(),
      commit: (lane, seq) => {
        seqs[lane].set(slot, Math.max(seq, seqs[lane].get(slot) ?? 0));
        reader.commit(lane, seq);
      },
    }),
  };
}

export interface TestKafkaLog extends SharedLog {
  readonly options: KafkaLogOptions;
  openWriter(options?: KafkaWriterOptions, deps?: Partial<KafkaWriterDeps>): Promise<EventLogWriter>;
  openReader(slot: number, options?: KafkaReaderOptions, deps?: KafkaReaderDeps): Promise<EventLogReader>;
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
    openReader: async (slot, own = {}, deps = {}) => {
      const readers = await openKafkaLogReaders({ ...options, deleteEveryMs: 50, ...own }, deps);
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
