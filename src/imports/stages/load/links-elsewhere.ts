import { runTableRowsNamed } from '../../../stores/events/run-table-reads.ts';
import type { RunRef } from '../../../stores/events/eventstore.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { TargetReader } from '../../target.ts';
import type { IdentityKey } from '../../../stores/events/import-reads.ts';
import { readStorePages } from '../../targets/read-store.ts';
import { hashIdentity, hashText } from '../check/rows/event-keys.ts';
import { addedOnce, isElsewhere, readStoredEvents } from '../check/links/stored-events.ts';

interface LinksDeps {
  readonly runStore: RunStore;
  readonly reader: Pick<TargetReader, 'eventsNamed'>;
  readonly run: RunRef;
  readonly signal: AbortSignal;
}

const rowsPerPage = 50_000;

/** Returns whether the target has a link or group event of the run's table on another day, stored by another run or live. */
export async function hasLinksElsewhere({ runStore, reader, run, signal }: LinksDeps): Promise<boolean> {
  const stored = await readStoredEvents({ identifies: 1, groupIdentifies: 1 }, (event) =>
    reader.eventsNamed(event, signal, [run.runId]),
  );
  const name = { low: 0, high: 0 };
  const id = { low: 0, high: 0 };
  const key = { low: 0, high: 0 };
  for (const event of Object.values(addedOnce)) {
    hashText(event, name);
    const read = (after: IdentityKey | undefined) => runTableRowsNamed(runStore, run, { event, after }, rowsPerPage);
    for await (const page of readStorePages(read, signal)) {
      for (const { day, uuid, distinctId } of page) {
        hashText(distinctId, id);
        hashIdentity(uuid, name, id, key);
        if (isElsewhere(stored, event, day, key)) return true;
      }
    }
  }
  return false;
}
