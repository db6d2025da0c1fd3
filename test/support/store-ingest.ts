import type { EventStore } from '../../src/stores/events/eventstore.ts';
import { parseMicros } from '../../src/stores/events/micros.ts';
import { EventRowWriter } from '../../src/stores/events/rows.ts';
import type { ProjectIngest } from '../../src/imports/targets/project-ingest.ts';
import type { SentEvent } from './batch-service.ts';

const dayMicros = 86_400_000_000;

/** For tests: stores events as the pipeline would, without what the pipeline may change. */
export function createStoreInserter(
  store: EventStore,
  projectId: number,
): (events: readonly SentEvent[]) => Promise<void> {
  let batches = 0;
  return async (events) => {
    if (events.length === 0) return;
    const writer = new EventRowWriter();
    batches += 1;
    for (const event of events) {
      const micros = Number(parseMicros(event.timestamp));
      writer.write({
        projectId,
        historical: true,
        // A later batch never replaces an earlier one.
        receivedAtMicros: batches,
        timestampMicros: micros,
        keyDay: Math.floor(micros / dayMicros),
        uuid: event.uuid,
        event: event.event,
        distinctId: event.distinct_id,
        properties: JSON.stringify(event.properties),
      });
    }
    await store.insertBatch(writer.take(), `test-${projectId}-${batches}`);
  };
}

/** For tests: a door of a project at which nothing waits. */
export function openIngest(take: (body: Uint8Array) => Promise<void>): ProjectIngest {
  const accepted = async () => ({ kind: 'accepted' }) as const;
  return { accept: (body) => take(body).then(accepted), admit: accepted, acceptFacts: accepted };
}
