import { backoffMs } from '../../base/retry.ts';
import { takeWork } from '../../base/take-work.ts';
import type { DestinationKind, Notice } from '../../wire/contract/notices.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { findAnyDestination } from './destinations.ts';
import { claimDelivery, releaseDelivery, settleDelivery, type Delivery, type Outcome } from './outbox.ts';
import { CarrierError, type Carrier } from './send/carrier.ts';

export interface SenderDeps {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
  readonly log: Log;
  readonly carriers: Readonly<Record<DestinationKind, Carrier>>;
  /** Public address of the service, without a slash at the end; empty: not known. */
  readonly siteUrl: string;
  /** Aborting stops taking notices; those that are not taken soon are given back. */
  readonly signal: AbortSignal;
  /** Told of each attempt. */
  readonly onAttempt?: (kind: DestinationKind, outcome: 'sent' | 'postponed' | 'failed') => void;
  /** How often to look for notices, default 2,000. */
  readonly pollMs?: number;
  /** First delay after a failure, default 10,000; doubles up to half an hour. */
  readonly retryMs?: number;
  /** For how long a notice is held, default 120,000. */
  readonly leaseMs?: number;
}

const atOnceMax = 4;
const retryMsMax = 1_800_000;
/** An attempt that takes longer has failed; much less than the lease. */
const attemptMsMax = 60_000;
/** For those under way when the service stops. */
const stopMsMax = 3000;

/** Sends what the outbox holds. Resolves when everything has stopped after the signal. */
export async function sendNotices(deps: SenderDeps): Promise<void> {
  const { db, clock, signal, log, pollMs = 2000, leaseMs = 120_000 } = deps;
  await takeWork({
    claim: async () => claimDelivery(db, await clock.now(), leaseMs),
    work: (delivery) => deliver(deps, delivery),
    atOnceMax,
    pollMs,
    signal,
    onTrouble: (err) => log.error({ err }, 'notices wait: the metadata store does not answer'),
  });
}

/** Never rejects: when the outcome cannot be written, the lease runs out and the notice is sent again. */
async function deliver(deps: SenderDeps, delivery: Delivery): Promise<void> {
  const { db, clock, log } = deps;
  try {
    const found = await findAnyDestination(db, delivery.destinationId);
    if (found === undefined) return;
    const isOff = !found.enabled && delivery.notice.event !== 'test';
    const outcome = isOff ? switchedOff : await attempt(deps, delivery, deps.carriers[found.kind], found.address);
    if (outcome === 'stopped') return await releaseDelivery(db, delivery);
    const state = await settleDelivery(db, delivery, outcome, await clock.now());
    if (state === undefined) return;
    deps.onAttempt?.(found.kind, state === 'sent' || state === 'failed' ? state : 'postponed');
    if (outcome.kind === 'refused' && state === 'failed' && !isOff) {
      log.warn({ notice: delivery.id, destination: found.id, reason: outcome.error }, 'a notice could not be sent');
    }
  } catch (err) {
    log.error({ err, notice: delivery.id }, 'what became of a notice could not be written; it is sent again');
  }
}

const switchedOff: Outcome = { kind: 'refused', error: 'the destination is switched off', final: true, delayMs: 0 };

async function attempt(
  deps: SenderDeps,
  { id, notice, attempts }: Delivery,
  carry: Carrier,
  address: Parameters<Carrier>[0]['address'],
): Promise<Outcome | 'stopped'> {
  const [late, stopped] = [Promise.withResolvers<never>(), Promise.withResolvers<'stopped'>()];
  const limit = setTimeout(
    () => late.reject(new CarrierError(`expected an end within ${attemptMsMax / 1000} s, got none`, { retry: true })),
    attemptMsMax,
  );
  let grace: NodeJS.Timeout | undefined;
  const onStop = (): void => void (grace = setTimeout(() => stopped.resolve('stopped'), stopMsMax));
  if (deps.signal.aborted) onStop();
  else deps.signal.addEventListener('abort', onStop);
  try {
    const letter = { id, notice, url: pageOf(deps.siteUrl, notice), address };
    const sent = carry(letter).then((): Outcome => ({ kind: 'sent' }));
    return await Promise.race([sent, late.promise, stopped.promise]);
  } catch (error) {
    const delayMs = backoffMs(attempts - 1, deps.retryMs ?? 10_000, retryMsMax);
    if (error instanceof CarrierError) return { kind: 'refused', error: error.message, final: !error.retry, delayMs };
    deps.log.error({ err: error, notice: id }, 'sending a notice failed in an unexpected way; trying again');
    return { kind: 'refused', error: 'sending failed; the log of the service says why', final: false, delayMs };
  } finally {
    clearTimeout(limit);
    clearTimeout(grace);
    deps.signal.removeEventListener('abort', onStop);
  }
}

function pageOf(siteUrl: string, { project, target }: Notice): string | undefined {
  if (siteUrl === '') return undefined;
  return project === null ? `${siteUrl}/console/` : `${siteUrl}/console/projects/${project.id}/${target}`;
}
