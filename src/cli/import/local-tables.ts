import { join } from 'node:path';
import { StoreStartError } from '../../stores/events/eventstore.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import { RunFailedError } from '../../imports/run/leased-run.ts';
import { openEmbeddedStore, startEmbeddedStore } from '../../server/service/stores.ts';
import { createLog } from '../../server/telemetry/log.ts';
import type { ImportDir } from './state-dir.ts';

/** The event store of one import, with the tables of its run. */
export interface LocalTables {
  /** Starts the engine for the first caller; others share it. Errors: RunFailedError, when it cannot start. */
  open(): Promise<RunStore>;
  /** Ends the engine, also while it starts. */
  close(): Promise<void>;
}

/** Default of the service. */
const storeMemoryBytesMax = 1024 ** 3;
/** Long, because no user waits for a single query. */
const queryTimeoutMs = 600_000;

/** Starts nothing until it is needed: most commands read no table. */
export function localTables({ path }: Pick<ImportDir, 'path'>): LocalTables {
  let started: Promise<Started> | undefined;
  return {
    open() {
      if (started === undefined) {
        const starting = start(join(path, 'store'));
        started = starting;
        // The next caller tries again.
        starting.catch(() => (started = undefined));
      }
      return started.then(({ store }) => store);
    },
    async close() {
      await (await started?.catch(() => undefined))?.close();
    },
  };
}

interface Started {
  readonly store: RunStore;
  close(): Promise<void>;
}

async function start(dataDir: string): Promise<Started> {
  const settings = { dataDir, storeMemoryBytesMax, queryTimeoutMs };
  const engine = await startEmbeddedStore(settings, { log: createLog('silent'), onRestart: () => {} }).catch(
    (error: unknown) => {
      if (!(error instanceof StoreStartError)) throw error;
      throw new RunFailedError(startMessage(error), { cause: error });
    },
  );
  const store = await openEmbeddedStore(engine);
  return {
    store,
    async close() {
      await store.close();
      await engine.close();
    },
  };
}

function startMessage({ message, isPlatform }: StoreStartError): string {
  return isPlatform
    ? `expected a platform supported by the embedded event store, got ${process.platform}-${process.arch}: ` +
        'run the import on a service, with --config, or on another machine'
    : message;
}
