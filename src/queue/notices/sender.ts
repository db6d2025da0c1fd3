import { backoffMs } from '../../base/retry.ts';
import { takeWork } from '../../base/take-work.ts';
import type { DestinationKind, Notice } from '../../wire/contract/notices.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { findAnyDestination } from './destinations.ts';
import { claimDelivery, releaseDelivery, settleDelivery, type Delivery, type Outcome } from './outbox.ts';
import { CarrierError, type Carrier } from './send/carrier.ts';

interface SenderDeps {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
  readonly log: Log;
  readonly carriers: Readonly<Record<DestinationKind, Carrier>>;
  /** Public address of the service without a trailing slash; empty when unknown. */
  readonly siteUrl: string;
  /** Aborting stops claiming; deliveries that do not finish soon are released. */
  readonly signal: AbortSignal;
  /** Called after each attempt. */
  readonly onAttempt?: (kind: DestinationKind, outcome: 'sent' | 'postponed' | 'failed') => void;
  /** Poll interval in ms, default 2,000. */
  readonly pollMs?: number;
  /** First delay after a failure in ms, default 10,000; doubles up to half an hour. */
  readonly retryMs?: number;
  /** Lease time in ms, default 120,000. */
  readonly leaseMs?: number;
}

const atOnceMax = 4;
const retryMsMax = 1_800_000;
/** A longer attempt has failed; much shorter than the lease. */
const attemptMsMax = 60_000;
/** Time for deliveries in progress when the service stops. */
const stopMsMax = 3000;

/** Sends the notifications of the outbox. Resolves when everything has stopped after the signal. */
export async function sendNotices(deps: SenderDeps): Promise<void> {
  const { db, clock, signal, log, pollMs = 2000, leaseMs = 120_000 } = deps;
  await takeWork({
    claim: async () => claimDelivery(db, await clock.now(), leaseMs),
    work: (delivery) => deliver(deps, delivery),
    atOnceMax,
    pollMs,
    signal,
    onTrouble: (err) => log.error({ err }, 'failed to claim notifications; retrying'),
  });
}

/** Never rejects: when the outcome cannot be recorded, the lease expires and the notification is sent again. */
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
      log.warn({ notice: delivery.id, destination: found.id, reason: outcome.error }, 'notification not sent');
    }
  } catch (err) {
    log.error({ err, notice: delivery.id }, 'failed to record delivery outcome; will resend');
  }
}

const switchedOff: Outcome = { kind: 'refused', error: 'the destination is disabled', final: true, delayMs: 0 };

async function attempt(
  deps: SenderDeps,
  { id, notice, attempts }: Delivery,
  carry: Carrier,
  address: Parameters<Carrier>[0]['address'],
): Promise<Outcome | 'stopped'> {
  const [late, stopped] = [Promise.withResolvers<never>(), Promise.withResolvers<'stopped'>()];
  const limit = setTimeout(
    () =>
      late.reject(new CarrierError(`expected the delivery to finish within ${attemptMsMax / 1000} s`, { retry: true })),
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
    deps.log.error({ err: error, notice: id }, 'unexpected error while sending a notification; retrying');
    return { kind: 'refused', error: 'sending failed; see the service log for the cause', final: false, delayMs };
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
