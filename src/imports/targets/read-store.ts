import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import type { IdentityPage } from '../../stores/events/import-reads.ts';
import { TargetWaitError } from '../target.ts';

/** Reads from the event store. Throws TargetWaitError while it is unavailable. */
export async function readStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StoreUnavailableError) {
      throw new TargetWaitError('the event store is busy or cannot be reached', { cause });
    }
    throw cause;
  }
}

/** Reads page after page, each from the end of the previous one. */
export async function* readStorePages<Event, Key>(
  read: (after: Key | undefined) => Promise<IdentityPage<Event, Key>>,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  let after: Key | undefined;
  do {
    signal.throwIfAborted();
    const from = after;
    const page = await readStore(() => read(from));
    yield page.events;
    after = page.next;
  } while (after !== undefined);
}
