import { join } from 'node:path';
import { StoreStartError } from '../../stores/events/eventstore.ts';
import type { RunStore } from '../../stores/events/run-tables.ts';
import { RunFailedError } from '../../imports/run/leased-run.ts';
import { openEmbeddedStore, startEmbeddedStore } from '../../server/service/stores.ts';
import { createLog } from '../../server/telemetry/log.ts';
import type { ImportDir } from './state-dir.ts';

/** The event store of one import, in which the tables of its run lie. */
export interface LocalTables {
  /** Starts the engine for the first caller; all others share it. Errors: RunFailedError, where it cannot work. */
  open(): Promise<RunStore>;
  /** Ends the engine, also one that is just starting. */
  close(): Promise<void>;
}

/** What the service's own takes by default. */
const storeMemoryBytesMax = 1024 ** 3;
/** Long: no person waits for the answer to a single query. */
const queryTimeoutMs = 600_000;

/** Nothing is started or made before it is needed: most commands read no table. */
export function localTables({ path }: Pick<ImportDir, 'path'>): LocalTables {
  let started: Promise<Started> | undefined;
  return {
    open() {
      if (started === undefined) {
        const starting = start(join(path, 'store'));
        started = starting;
        // The next one who asks tries again.
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
      throw new RunFailedError(startSentence(error), { cause: error });
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

function startSentence({ message, isPlatform }: StoreStartError): string {
  return isPlatform
    ? `expected a platform that the embedded event store has a program for, got ${process.platform}-${process.arch}: ` +
        'let a service do the import, with --config, or give the command on another machine'
    : message;
}
