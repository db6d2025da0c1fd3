import type { Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject } from '../../base/json.ts';
import type { SandboxEvent, SandboxInstance } from '../../plugins/sandbox/sandbox.ts';
import { asError, isAborted, isWorthRetry, pluginAttemptsMax, pluginRetryDelayMs } from './outcome.ts';
import type { Failure, RunOutcome } from './outcome.ts';
import { enqueue, type Job } from './queue.ts';

/**
 * Processed events on their way to `onEvent` and `exportEvents`. Delivery is at least once and in order: when a process dies
 * midway, the job's events are delivered again.
 */
export type DeliveryMethod = 'onEvent' | 'exportEvents';
/** A processed event, which already contains its markers. */
export type DeliveryEvent = SandboxEvent & { readonly markers: null };

export interface Delivery {
  readonly configId: number;
  readonly projectId: number;
  readonly method: DeliveryMethod;
  readonly events: readonly DeliveryEvent[];
}

export const eventsPerJobMax = 500;
export const charsPerJobMax = 1_000_000;
/** Maximum queued jobs of one config; further deliveries are skipped. */
export const backlogMax = 2000;
/** As published: onEvent retries up to five times after 5 s, 10 s, 20 s …; exportEvents as often as a plugin's jobs. */
const attemptsMaxOf = { onEvent: 6, exportEvents: pluginAttemptsMax } as const;
const onEventRetryMs = 5000;
/** Maximum concurrent calls of onEvent; they start in order. As on the published server. */
const callsAtOnceMax = 10;
const failuresKeptMax = 5;

/**
 * Adds deliveries in the transaction that stores the events. Returns by config how many events were skipped because too many
 * are queued. Disabled and deleted configs receive none, and those are not counted. `onEnqueued` is called for each job.
 */
export async function addDeliveries(
  tx: Queries,
  deliveries: readonly Delivery[],
  now: number,
  onEnqueued?: (delivery: { readonly job: string; readonly events: number }) => void,
): Promise<ReadonlyMap<number, number>> {
  const skipped = new Map<number, number>();
  const room = await roomByConfig(tx, [...new Set(deliveries.map(({ configId }) => configId))]);
  for (const { configId, projectId, method, events } of deliveries) {
    const left = room.get(configId);
    if (left === undefined) continue;
    const parts = inParts(events);
    for (const part of parts.slice(0, left)) {
      const attemptsMax = attemptsMaxOf[method];
      const payload = { events: part } as unknown as JsonObject;
      const job = { projectId, configId, type: method, operation: 'deliver', kind: 'delivery', payload } as const;
      const id = await enqueue(tx, { ...job, attemptsMax, now });
      onEnqueued?.({ job: id, events: part.length });
    }
    room.set(configId, Math.max(0, left - parts.length));
    const lost = parts.slice(left).reduce((sum, part) => sum + part.length, 0);
    if (lost > 0) skipped.set(configId, (skipped.get(configId) ?? 0) + lost);
  }
  return skipped;
}

/** Returns how many jobs may be added to each config that exists and is enabled. */
async function roomByConfig(tx: Queries, configIds: readonly number[]): Promise<Map<number, number>> {
  if (configIds.length === 0) return new Map();
  const enabled = await tx
    .selectFrom('plugin_configs')
    .select('id')
    .where('id', 'in', configIds)
    .where('enabled', '=', 1)
    .where('deleted', '=', 0)
    .execute();
  const waiting = await tx
    .selectFrom('jobs')
    .select((eb) => ['config_id', eb.fn.countAll<number>().as('count')])
    .where('kind', '=', 'delivery')
    .where('state', '=', 'queued')
    .where('attempts', '=', 0)
    .where('config_id', 'in', configIds)
    .groupBy('config_id')
    .execute();
  const counts = new Map(waiting.map(({ config_id: id, count }) => [id, Number(count)]));
  return new Map(enabled.map(({ id }) => [id, Math.max(0, backlogMax - (counts.get(id) ?? 0))]));
}

/** Splits events into jobs; an event that is too large to share a job gets a separate one. */
function inParts(events: readonly DeliveryEvent[]): DeliveryEvent[][] {
  const parts: DeliveryEvent[][] = [];
  let chars = Infinity;
  for (const event of events) {
    const size = event.propertiesText.length + event.distinctId.length + event.event.length + 200;
    const last = parts.at(-1);
    if (last === undefined || last.length >= eventsPerJobMax || chars + size > charsPerJobMax) {
      parts.push([event]);
      chars = size;
    } else {
      last.push(event);
      chars += size;
    }
  }
  return parts;
}

/** Never rejects because of the plugin's behaviour. */
export async function deliver(
  instance: SandboxInstance,
  job: Job,
  settings: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const { events } = job.payload as unknown as { readonly events: readonly SandboxEvent[] };
  if (job.type === 'onEvent') return deliverEach(instance, job, events, signal);
  return deliverAll(instance, job, events, { ignored: ignoredEvents(settings), signal });
}

/** Parses `exportEventsToIgnore`: a comma-separated list of event names that the published server does not export. */
function ignoredEvents(settings: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const names = settings['exportEventsToIgnore'];
  return new Set(typeof names === 'string' ? names.split(',').map((name) => name.trim()) : []);
}

async function deliverAll(
  instance: SandboxInstance,
  job: Job,
  all: readonly SandboxEvent[],
  { ignored, signal }: { readonly ignored: ReadonlySet<string>; readonly signal: AbortSignal },
): Promise<RunOutcome> {
  const events = all.filter(({ event }) => !ignored.has(event));
  if (events.length === 0) return { kind: 'done' };
  try {
    await instance.call({ kind: 'exportEvents', events }, { signal });
    return { kind: 'done', counts: { succeeded: events.length, failed: 0 } };
  } catch (thrown) {
    const error = asError(thrown);
    if (isAborted(error)) return { kind: 'stopped' };
    const failures = [{ error, ...sampleOf(events[0]) }];
    if (isWorthRetry(error, job.attempts) && job.attempts < job.attemptsMax) {
      return { kind: 'retry', error, delayMs: pluginRetryDelayMs(triesOf(job, 'exportEvents')), failures };
    }
    return { kind: 'failed', error, failures, counts: { succeeded: 0, failed: events.length } };
  }
}

interface Each {
  succeeded: number;
  readonly again: { readonly event: SandboxEvent; readonly error: Error }[];
  readonly lost: { readonly event: SandboxEvent; readonly error: Error }[];
  readonly stopped: SandboxEvent[];
}

/** Delivers events one by one, as published: a failing event does not affect the others. */
async function deliverEach(
  instance: SandboxInstance,
  job: Job,
  events: readonly SandboxEvent[],
  signal: AbortSignal,
): Promise<RunOutcome> {
  const each: Each = { succeeded: 0, again: [], lost: [], stopped: [] };
  let next = 0;
  while (next < events.length && each.again.length === 0 && each.stopped.length === 0) {
    const group = events.slice(next, next + callsAtOnceMax);
    next += group.length;
    const calls = group.map((event, index) => {
      const more = next < events.length || index < group.length - 1;
      return instance.call({ kind: 'onEvent', events: [event], ...(more && { more }) }, { signal });
    });
    const results = await Promise.allSettled(calls);
    results.forEach((result, index) => sort(each, job, group[index], result));
  }
  return eachOutcome(each, job, events.slice(next));
}

function sort(each: Each, job: Job, event: SandboxEvent | undefined, result: PromiseSettledResult<unknown>): void {
  if (event === undefined) return;
  if (result.status === 'fulfilled') {
    each.succeeded += 1;
    return;
  }
  const error = asError(result.reason);
  if (isAborted(error)) each.stopped.push(event);
  else if (job.attempts < job.attemptsMax && isWorthRetry(error, job.attempts)) each.again.push({ event, error });
  else each.lost.push({ event, error });
}

function eachOutcome(each: Each, job: Job, rest: readonly SandboxEvent[]): RunOutcome {
  const { succeeded, again, lost, stopped } = each;
  const counts = { succeeded, failed: lost.length };
  const failures = [...lost, ...again].slice(0, failuresKeptMax).map(toFailure);
  const left = [...again.map(({ event }) => event), ...stopped, ...rest];
  if (stopped.length > 0) return { kind: 'stopped', counts, failures, more: { payload: payloadOf(left) } };
  const [first] = again;
  if (first !== undefined) {
    const hasAdvanced = succeeded + lost.length > 0;
    const more = {
      payload: payloadOf(left),
      attemptsMax: hasAdvanced ? job.attempts + attemptsMaxOf.onEvent - 1 : job.attemptsMax,
    };
    const delayMs = onEventRetryMs * 2 ** (hasAdvanced ? 0 : triesOf(job, 'onEvent') - 1);
    return { kind: 'retry', error: first.error, delayMs, more, counts, failures };
  }
  const [worst] = lost;
  if (worst === undefined) return { kind: 'done', counts };
  const more = { payload: payloadOf(lost.map(({ event }) => event)) };
  return { kind: 'failed', error: worst.error, more, counts, failures };
}

/** Returns the attempts at the events that are now first. Earlier events had their own attempts, and a failed setup is not counted. */
function triesOf(job: Job, method: DeliveryMethod): number {
  return Math.max(1, attemptsMaxOf[method] - (job.attemptsMax - job.attempts));
}

function payloadOf(events: readonly SandboxEvent[]): JsonObject {
  return { events } as unknown as JsonObject;
}

function toFailure({ event, error }: { readonly event: SandboxEvent; readonly error: Error }): Failure {
  return { error, ...sampleOf(event) };
}

function sampleOf(event: SandboxEvent | undefined): { event?: JsonObject } {
  if (event === undefined) return {};
  const { uuid, event: name, distinctId, timestamp, propertiesText } = event;
  const properties = JSON.parse(propertiesText) as JsonObject;
  return { event: { uuid, event: name, distinct_id: distinctId, timestamp, properties } };
}
