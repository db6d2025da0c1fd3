/** Notices: what lasts is looked at, and what the outbox holds is sent. */
import { siteUrlOf } from '../http/request-origin.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { createEmail } from '../../queue/notices/send/email.ts';
import { createSlack } from '../../queue/notices/send/slack.ts';
import { createWebhook } from '../../queue/notices/send/webhook.ts';
import { sendNotices } from '../../queue/notices/sender.ts';
import { watchConditions } from '../../queue/notices/watch-conditions.ts';
import { fetchLoadedLate } from '../../plugins/outbound/load-late.ts';
import { outboundTrust } from './plugin-environment.ts';
import type { ServiceDeps } from './service-deps.ts';
import type { StatusSource } from '../api/status.ts';

/** Of the answer of a receiver nothing is read but its status. */
const answerBytesMax = 65_536;

/** `parts` takes what has to be stopped. */
export function startNotices(
  { settings, db, metrics, log, clock, status }: ServiceDeps & { readonly status: StatusSource },
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const common = { db, log, clock: createDatabaseClock(db), signal: stop.signal };
  const { outboundTimeoutMs: timeoutMs } = settings;
  const fetch = fetchLoadedLate({ ...outboundTrust(settings), timeoutMs, bytesMax: answerBytesMax });
  const watching = watchConditions({
    ...common,
    lanes: status.lanes,
    disk: status.keepsData ? status.disk : undefined,
    limits: { deadLettersMax: settings.noticeDeadLetters, lagSecondsMax: settings.noticeLagSeconds },
  });
  const sending = sendNotices({
    ...common,
    siteUrl: siteUrlOf(settings),
    carriers: {
      webhook: createWebhook(fetch, () => clock.now()),
      slack: createSlack(fetch),
      email: createEmail(settings),
    },
    onAttempt: (kind, outcome) => metrics.count('millrace_notices_total', { kind, outcome }),
  });
  parts.defer(async () => {
    stop.abort();
    await Promise.all([watching, sending]);
    await fetch.close();
  });
}
