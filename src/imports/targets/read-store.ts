import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import type { IdentityKey, IdentityPage } from '../../stores/events/import-reads.ts';
import { TargetWaitError } from '../target.ts';

/** Work on the event store. Throws TargetWaitError while it is busy or away. */
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

/** Page after page, each read from where the one before ended. */
export async function* readStorePages<Event>(
  read: (after: IdentityKey | undefined) => Promise<IdentityPage<Event>>,
  signal: AbortSignal,
): AsyncGenerator<readonly Event[]> {
  let after: IdentityKey | undefined;
  do {
    signal.throwIfAborted();
    const from = after;
    const page = await readStore(() => read(from));
    yield page.events;
    after = page.next;
  } while (after !== undefined);
}
