import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { linkTree } from '../../base/link-tree.ts';

/** A store's files as they were at one moment; written out at leisure. */
export interface StoreSnapshot extends Disposable {
  copyTo(path: string): Promise<void>;
}

export interface SnapshotDeps {
  readonly dataDir: string;
  /** An empty directory on the same file system, which becomes a data directory. */
  readonly to: string;
  /** Calls `work` while no process and no thread writes metadata. */
  readonly holdMetadata: <T>(work: () => T) => Promise<T>;
  readonly openMetadata: () => StoreSnapshot;
  readonly openLog: () => StoreSnapshot;
  readonly events: { gather(): void; settle(): void; finish(): void };
  /** Directories below `dataDir` whose files are never changed in place, or only get longer. */
  readonly linkedDirs: readonly string[];
}

/** More than enough parts come while the first ones are linked. */
const gathersMax = 5;
/** A service waits so long without anybody seeing it. */
const quickMs = 300;

/**
 * Makes a copy of a data directory that a service could have left behind when it was killed, whether or not one works on it.
 *
 * The pipeline puts on record which range of the log it is about to insert, inserts it, and moves the cursor, both times in the
 * metadata store. So while nobody writes metadata:
 *
 * - every range up to the cursor is in the event store, and beyond it only ranges that are on record: those that were begun;
 * - the log has every record beyond the cursor: what it drops lies behind cursors that were committed;
 * - rows of an import run are deleted only when that is on record, too.
 *
 * A copy of the three whose moments all lie in there is one that a start repairs as after a crash: a range that was begun is read
 * again exactly so, and inserted under the same token. The log's moment needs no other order with the store's: ranges on record
 * were appended before.
 *
 * @returns for how long writers of metadata waited, ms
 */
export async function takeSnapshot(deps: SnapshotDeps): Promise<number> {
  const { dataDir, to, events } = deps;
  gatherMost(events);
  using opened = new DisposableStack();
  const { metadata, log, heldMs } = await deps.holdMetadata(() => {
    const begun = performance.now();
    const stores = { metadata: opened.use(deps.openMetadata()), log: opened.use(deps.openLog()) };
    events.settle();
    // After the metadata: files are there before they are on record.
    for (const dir of deps.linkedDirs) linkTree(join(dataDir, dir), join(to, dir));
    return { ...stores, heldMs: performance.now() - begun };
  });
  mkdirSync(join(to, 'log'), { recursive: true, mode: 0o700 });
  await log.copyTo(join(to, 'log'));
  await metadata.copyTo(join(to, 'metadata.sqlite'));
  events.finish();
  return heldMs;
}

/** Until so few are new that they are linked in no time. */
function gatherMost(events: SnapshotDeps['events']): void {
  for (let gathers = 0; gathers < gathersMax; gathers++) {
    const begun = performance.now();
    events.gather();
    if (performance.now() - begun < quickMs) return;
  }
}
