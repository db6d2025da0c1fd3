import { setTimeout } from 'node:timers/promises';
import { createPartChecks } from '../../stores/events/check-parts.ts';
import { StoreUnavailableError, type StoreHealth } from '../../stores/events/eventstore.ts';
import type { ServiceDeps } from './service-deps.ts';
import { createStoredPartsNote, type StoredPartsNote } from './stored-parts-note.ts';

/** About 400 MiB a minute: a store of 100 GiB has been read once after four hours. */
const turnBytes = 64 * 1024 * 1024;
const everyMs = 10_000;
const noteMs = 1_000;

/**
 * Compares the parts of the embedded store with those that it had when the service stopped, and checks what is in them, by turns.
 * Undefined where a server keeps the events.
 */
export async function watchParts(
  { settings, store, log }: Pick<ServiceDeps, 'settings' | 'store' | 'log'>,
  parts: AsyncDisposableStack,
): Promise<(() => StoreHealth) | undefined> {
  if (settings.clickhouseUrl !== '') return undefined;
  const note = createStoredPartsNote(settings.dataDir, store);
  const missing = await note.compare();
  if (missing !== '') log.error({ detail: missing }, 'stored events are missing');
  // All that writes events starts later, and has stopped by then.
  parts.defer(() => writeNote(note, log));
  const checks = createPartChecks(store, { turnBytes });
  let last = '';
  let isAtWork = false;
  const turn = async (): Promise<void> => {
    if (isAtWork) return;
    isAtWork = true;
    try {
      await checks.turn();
      const { detail } = checks.health();
      if (detail !== '' && detail !== last) log.error({ detail }, 'stored events are damaged');
      last = detail;
    } catch (error) {
      // The health of the store says so; the parts wait for the next turn.
      if (!(error instanceof StoreUnavailableError)) log.error({ error }, 'stored parts could not be checked');
    } finally {
      isAtWork = false;
    }
  };
  const timer = setInterval(() => void turn(), everyMs);
  parts.defer(() => clearInterval(timer));
  return () => {
    const { detail } = checks.health();
    const details = [missing, detail].filter((each) => each !== '').join(' ');
    return { ok: details === '', detail: details };
  };
}

/** A store that hangs does not hold up the stop; without a note the next start compares nothing. */
async function writeNote(note: StoredPartsNote, log: ServiceDeps['log']): Promise<void> {
  const late = new AbortController();
  try {
    await Promise.race([note.write(), setTimeout(noteMs, undefined, { signal: late.signal })]);
  } catch (error) {
    log.warn({ err: error }, 'the parts of the event store could not be noted');
  } finally {
    late.abort();
  }
}
