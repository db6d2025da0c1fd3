import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { linkTree } from '../../base/link-tree.ts';

/** A store's files at one moment, to be written later. */
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
  readonly events: { gather(): void; fix(): void; finish(): void };
  /** Directories below `dataDir` whose files are never changed in place except by appending. */
  readonly linkedDirs: readonly string[];
}

/** Maximum of rounds: new parts appear while earlier ones are linked. */
const gathersMax = 5;
/** A pause of this length is not noticeable in a service. */
const quickMs = 300;

/**
 * Copies a data directory to a state that a killed service could have left behind, whether or not a service is running.
 *
 * The pipeline records which range of the log it is about to insert, inserts it, and moves the cursor; the first and the last step
 * write to the metadata store. So while no process writes metadata:
 *
 * - every range up to the cursor is in the event store, and beyond it only recorded ranges in progress;
 * - the log contains every record beyond the cursor: it only drops records before committed cursors;
 * - rows of an import run are deleted only after that has been recorded.
 *
 * If the copies of all three stores are taken within that time, a start repairs them as after a crash: a range in progress is read
 * again with the same end, and inserted under the same token. The order of log and event store does not matter: recorded ranges
 * were appended before.
 *
 * @returns how long writers of metadata waited, ms
 */
export async function takeSnapshot(deps: SnapshotDeps): Promise<number> {
  const { dataDir, to, events } = deps;
  gatherMost(events);
  using opened = new DisposableStack();
  const { metadata, log, heldMs } = await deps.holdMetadata(() => {
    const begun = performance.now();
    const stores = { metadata: opened.use(deps.openMetadata()), log: opened.use(deps.openLog()) };
    events.fix();
    // After the metadata: files exist before they are recorded.
    for (const dir of deps.linkedDirs) linkTree(join(dataDir, dir), join(to, dir));
    return { ...stores, heldMs: performance.now() - begun };
  });
  mkdirSync(join(to, 'log'), { recursive: true, mode: 0o700 });
  await log.copyTo(join(to, 'log'));
  await metadata.copyTo(join(to, 'metadata.sqlite'));
  events.finish();
  return heldMs;
}

/** Repeats until few enough parts are new to link them quickly. */
function gatherMost(events: SnapshotDeps['events']): void {
  for (let gathers = 0; gathers < gathersMax; gathers++) {
    const begun = performance.now();
    events.gather();
    if (performance.now() - begun < quickMs) return;
  }
}
