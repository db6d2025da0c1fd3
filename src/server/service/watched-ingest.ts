import { isoMicros, isoOfMicros, type Clock } from '../../base/clock.ts';
import type { AcceptedBatch, Ingest } from '../../wire/batch/ingest.ts';
import { scanLimits } from '../../wire/batch/limits.ts';
import { validateEvent } from '../../wire/batch/validate.ts';
import { fieldFrom } from '../../wire/batch/spans.ts';
import type { Settings } from '../config/settings.ts';
import type { LiveHub } from '../../pipeline/live/hub.ts';
import { showEvent } from '../../pipeline/live/show-event.ts';
import { Tap } from '../../pipeline/live/tap.ts';
import type { Sightings } from '../../pipeline/live/watch.ts';
import type { EventDraft } from '../../pipeline/event-draft.ts';
import { openRecord, type OpenRecord } from '../../pipeline/open-record.ts';
import { readEvent } from '../../pipeline/read-event.ts';

export interface WatchedIngestDeps {
  readonly live: LiveHub;
  readonly clock: Clock;
  readonly settings: Pick<Settings, 'captureEventBytesMax' | 'captureInflatedBytesMax'>;
}

/** Received bytes per second that are parsed for readers; events beyond are counted. Clients wait while this thread parses. */
const bytesPerSecond = 1024 * 1024;

/** Wraps ingest so that readers of the live stream see accepted events. */
export function createWatchedIngest(ingest: Ingest, { live, clock, settings }: WatchedIngestDeps): Ingest {
  const tap = new Tap();
  live.addSource((watches) => tap.watch(watches));
  const budget = createBudget(bytesPerSecond, () => performance.now());
  const limits = {
    scan: scanLimits(settings.captureEventBytesMax),
    inflatedBytesMax: settings.captureInflatedBytesMax,
  };
  const observe = (batch: AcceptedBatch): Sightings => {
    const { projectId, events } = batch;
    if (!budget.takes(batch.body.byteLength)) tap.skip(projectId, 'received', events);
    else {
      try {
        note(tap, openRecord(batch.lane, recordOf(batch), limits), clock.now());
      } catch {
        // Errors are left to the pipeline; showing events must not block ingest.
        tap.skip(projectId, 'received', events);
      }
    }
    return tap.take();
  };
  return {
    accept: async (batch) => {
      if (batch.rowsStored !== undefined || !tap.isWatched(batch.projectId)) return ingest.accept(batch);
      // Before accepting: the log may move the bytes to its thread.
      const sightings = observe(batch);
      await ingest.accept(batch);
      live.deliver(sightings);
    },
  };
}

function recordOf({ projectId, receivedAt, encoding, events, requestId, sentAt, ip, body }: AcceptedBatch) {
  const optional = { ...(sentAt === undefined ? {} : { sentAt }), ...(ip === undefined ? {} : { ip }) };
  return { seq: 0, header: { projectId, receivedAt, encoding, events, requestId, ...optional }, body };
}

/** Invalid events in an accepted batch are shown by the pipeline, as dead letters. */
function note(tap: Tap, record: OpenRecord, now: number): void {
  const { context, scan } = record;
  for (let index = 0; index < scan.count; index++) {
    if (!validateEvent(scan, index, context.lane, context.receivedAt).ok) continue;
    const draft = readEvent(context, scan, index, JSON.parse, true);
    const watches = tap.readersOf(context.projectId, 'received', draft.event, draft.distinctId);
    if (watches.length > 0) tap.add({ stage: 'received', watches, json: show(record, draft, now) });
  }
}

function show({ context, scan }: OpenRecord, draft: EventDraft, now: number): string {
  // A live event without one gets it from its position in the log, which is not known yet.
  const isNamed = context.lane === 'historical' || fieldFrom(scan, draft.index, 'uuid') >= 0;
  const { event, distinctId, micros, properties, propertiesText } = draft;
  return showEvent({
    stage: 'received',
    at: isoMicros(now),
    receivedAt: isoMicros(context.receivedAt),
    historical: context.lane === 'historical',
    uuid: isNamed ? draft.uuid : null,
    event,
    distinctId,
    timestamp: isoOfMicros(micros),
    propertiesText: propertiesText ?? JSON.stringify(properties),
  });
}

function createBudget(perSecond: number, nowMs: () => number) {
  let second = -1;
  let used = 0;
  return {
    /** The first of a second is accepted regardless of its size. */
    takes: (amount: number): boolean => {
      const current = Math.floor(nowMs() / 1000);
      if (current !== second) [second, used] = [current, 0];
      if (used > 0 && used + amount > perSecond) return false;
      used += amount;
      return true;
    },
  };
}
