import { setTimeout as sleep } from 'node:timers/promises';
import { ServerAwayError } from '../eventstore.ts';

const pingEveryMs = 2000;
const silentPingsMax = 2;

/**
 * Fails work on a hung server as if the server were unavailable, within about ten seconds instead of the timeout of its request, so
 * that another replica can take over with the same token. A server that answers pings may take as long as it needs.
 *
 * `answers` resolves within a few seconds. `work` must end soon after its signal is aborted, in any way.
 */
export async function whileAnswering<T>(
  answers: () => Promise<boolean>,
  work: (signal: AbortSignal) => Promise<T>,
  pauseMs = pingEveryMs,
): Promise<T> {
  const hung = new AbortController();
  const ended = new AbortController();
  const working = work(hung.signal);
  const watching = rejectWhenSilent(answers, pauseMs, ended.signal);
  try {
    return await Promise.race([working, watching]);
  } catch (error) {
    hung.abort();
    throw error;
  } finally {
    ended.abort();
    working.catch(() => undefined);
  }
}

/** Rejects with ServerAwayError once the server is silent, with AbortError once `ended` is aborted. */
async function rejectWhenSilent(answers: () => Promise<boolean>, pauseMs: number, ended: AbortSignal): Promise<never> {
  for (let silentPings = 0; silentPings < silentPingsMax;) {
    await sleep(pauseMs, undefined, { signal: ended });
    silentPings = (await answers()) ? 0 : silentPings + 1;
  }
  throw new ServerAwayError('The ClickHouse server has stopped answering');
}
