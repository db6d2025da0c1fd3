import type { Settings } from '../../server/config/settings.ts';
import { LogUnavailableError, type EventLogWriter, type RecordHeader } from '../../log/eventlog.ts';
import { slotOfPart, partOf } from '../../log/slot-of.ts';
import type { AcceptedBatch, Ingest } from '../batch/ingest.ts';
import type { ScanSender } from '../batch/scan-relay.ts';
import { unavailable } from './project-key.ts';
import { refuseOverLimits, retryAfterSeconds, type RefuseBatchDeps } from './refuse-batch.ts';
import type { Spreads } from './spreads.ts';
import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import { freeMemory } from '../../base/free-memory.ts';
import { inflateBody } from '../batch/inflate-body.ts';
import { scanLimits } from '../batch/limits.ts';
import { withoutEvents } from '../batch/rewrite.ts';
import { scanBatch } from '../batch/scan.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { distinctIdText, fieldFrom, fieldTo, isNullAt } from '../batch/spans.ts';
import { storedId } from '../batch/stored-id.ts';

export interface IngestDeps extends RefuseBatchDeps {
  readonly log: EventLogWriter;
  readonly settings: RefuseBatchDeps['settings'] & SplitLimits;
  /** Omit it if no project is spread, as in a log with one slot. */
  readonly spreads?: Spreads;
  /** Given if the pipeline runs in this process. */
  readonly scans?: Pick<ScanSender, 'send'>;
}

/** Creates the only way into the event log. It refuses a batch that is over a limit before it writes anything. */
export function createIngest(deps: IngestDeps): Ingest {
  const { log, settings, metrics, spreads, scans, limits } = deps;
  const component = 'capture';
  const append = async ({ part, batch }: BatchPart): Promise<number> => {
    const slot = slotOfPart(batch.projectId, part, log.slots);
    return log.append(batch.lane, { header: headerOf(batch, part), body: batch.body }, slot);
  };
  /**
   * Appends all parts or throws. After an error some parts may be in the log, as after a lost response. The client then retries
   * the whole batch, and stored events are recognised by their ids.
   */
  const appendAll = async (parts: readonly BatchPart[]): Promise<void> => {
    const ends = await Promise.allSettled(parts.map(append));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  return {
    accept: async (batch) => {
      const { lane } = batch;
      // Read before appending: a log may transfer the bytes to its own thread, which leaves an empty array here.
      const bytes = batch.body.byteLength;
      refuseOverLimits(deps, batch, bytes);
      try {
        const spread = log.slots === 1 ? 1 : await (spreads?.of(batch.projectId) ?? 1);
        if (spread === 1) {
          const seq = await append({ part: 0, batch });
          if (batch.scan !== undefined) scans?.send(lane, seq, batch.scan);
        } else await appendAll(await splitBatch(batch, Math.min(spread, log.slots), settings));
      } catch (cause) {
        limits?.giveBack(batch, bytes);
        if (!(cause instanceof LogUnavailableError)) throw cause;
        metrics.count('millrace_component_errors_total', { component, error_type: 'log_unavailable' });
        throw unavailable('The events could not be stored durably; try again.', retryAfterSeconds, cause);
      }
      metrics.count('millrace_component_received_events_total', { component, lane }, batch.events);
      metrics.count('millrace_component_received_bytes_total', { component, lane }, bytes);
    },
  };
}

function headerOf(batch: AcceptedBatch, part: number): RecordHeader {
  const { projectId, receivedAt, encoding, events, requestId, sentAt, ip, rowsStored, traceparent } = batch;
  return {
    projectId,
    receivedAt,
    encoding,
    events,
    requestId,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(ip === undefined ? {} : { ip }),
    ...(part === 0 ? {} : { part }),
    ...(rowsStored && { rowsStored }),
    ...(traceparent && { traceparent }),
  };
}

/** Events of one part of a project, in order. */
interface BatchPart {
  readonly part: number;
  readonly batch: AcceptedBatch;
}

type SplitLimits = Pick<Settings, 'captureEventBytesMax' | 'captureInflatedBytesMax'>;

const gzipAsync = promisify(gzip);
const zstdAsync = promisify(zstdCompress);
const quick = { level: 1 };

/**
 * Splits the batch of a spread project by the distinct ids of its events. A batch with a single part stays as received. Events
 * without an id, which the pipeline rejects, go with part 0.
 */
async function splitBatch(batch: AcceptedBatch, spread: number, limits: SplitLimits): Promise<BatchPart[]> {
  const json = inflateBody(batch, limits.captureInflatedBytesMax);
  const scan = scanBatch(json, scanLimits(limits.captureEventBytesMax));
  const parts = Array.from({ length: scan.count }, (_, index) => partOf(distinctIdOf(scan, index), spread));
  const used = [...new Set(parts)];
  const cut =
    used.length === 1
      ? [{ part: used[0] ?? 0, batch }]
      : used.map((part) => ({ part, body: bodyOf(batch, scan, (index) => parts[index] === part) }));
  if (batch.encoding !== 'identity') freeMemory(json);
  freeMemory(scan.spans);
  const counts = Map.groupBy(parts, (part) => part);
  return await Promise.all(
    cut.map(async (each) => {
      if ('batch' in each) return each;
      const body = await packed(each.body, batch);
      return { part: each.part, batch: { ...batch, body, events: counts.get(each.part)?.length ?? 0 } };
    }),
  );
}

function distinctIdOf(scan: ScannedBatch, index: number): string {
  const from = fieldFrom(scan, index, 'distinctId');
  if (from < 0 || isNullAt(scan.json, from)) return '';
  return storedId(distinctIdText(scan.json, from, fieldTo(scan, index, 'distinctId')));
}

/** Builds a body of the kept events in the form that the encoding compresses. */
function bodyOf({ encoding }: AcceptedBatch, scan: ScannedBatch, keep: (index: number) => boolean): Buffer {
  if (encoding !== 'zstd-ndjson') return withoutEvents(scan, keep);
  const lines: Buffer[] = [];
  for (let index = 0; index < scan.count; index++) {
    if (!keep(index)) continue;
    if (lines.length > 0) lines.push(newline);
    lines.push(scan.json.subarray(fieldFrom(scan, index, 'event'), fieldTo(scan, index, 'event')));
  }
  return Buffer.concat(lines);
}

const newline = Buffer.from('\n');

async function packed(body: Buffer, { encoding }: AcceptedBatch): Promise<Uint8Array> {
  if (encoding === 'identity') return body;
  return encoding === 'gzip' ? await gzipAsync(body, quick) : await zstdAsync(body);
}
