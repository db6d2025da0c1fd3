import { createPartChecks } from '../eventstore/check-parts.ts';
import { StoreUnavailableError, type StoreHealth } from '../eventstore/eventstore.ts';
import type { ServiceDeps } from './service-deps.ts';

/** About 400 MiB a minute: a store of 100 GiB has been read once after four hours. */
const turnBytes = 64 * 1024 * 1024;
const everyMs = 10_000;

/** Checks what the embedded store has stored, by turns. Undefined where a server keeps the events. */
export function watchParts(
  { settings, store, log }: Pick<ServiceDeps, 'settings' | 'store' | 'log'>,
  parts: AsyncDisposableStack,
): (() => StoreHealth) | undefined {
  if (settings.clickhouseUrl !== '') return undefined;
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
  return () => checks.health();
}
