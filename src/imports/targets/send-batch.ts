import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { codeIn, detailIn, listedRejections, rejectionsIn, type Answer, type BatchRejection } from './batch-answer.ts';

const compress = promisify(gzip);

/** The events of one batch, in any form. */
export interface BatchEvents {
  readonly count: number;
  /** Returns events [from, to) as JSON, separated by commas. */
  json(from: number, to: number): Uint8Array | string;
}

/** The outcome of some of the events; indexes count from the start of the whole batch. */
export interface BatchOutcome {
  readonly accepted: number;
  readonly rejected: readonly BatchRejection[];
}

/** The service refuses the request as such; no event of the batch caused it. */
export class BatchRefusedError extends Error {
  override name = 'BatchRefusedError';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`status ${answer.status}: ${detailIn(answer.text) ?? 'no explanation given'}`);
    this.answer = answer;
  }
}

interface BatchSenderOptions {
  readonly projectKey: string;
  readonly historical: boolean;
  /** Sends a gzipped body; resolves with a final response, not 408, 429 or 5xx. */
  readonly request: (body: Uint8Array<ArrayBuffer>, signal: AbortSignal) => Promise<Answer>;
}

/** Sends a batch; `report` receives the outcome of each part as soon as it is known. */
type SendBatch = (events: BatchEvents, report: (outcome: BatchOutcome) => void, signal: AbortSignal) => Promise<void>;

/** If nothing has been accepted, this many refused events show that the events are not the cause. */
const hopelessRejections = 100;

/**
 * - 2xx: accepted, except what the response lists as rejected
 * - 400 and 413 that list every event: these are rejected, each for its own reason
 * - other 413: both halves are sent separately; a single event is rejected
 * - other 400: a service that refuses whole batches gets both halves, until invalid events are alone
 * - anything else: BatchRefusedError
 */
export function createBatchSender({ projectKey, historical, request }: BatchSenderOptions): SendBatch {
  let everAccepted = 0;
  let everRejected = 0;
  const head = `{"api_key":${JSON.stringify(projectKey)},${historical ? '"historical_migration":true,' : ''}"batch":[`;

  const settle = (answer: Answer, count: number): BatchOutcome | 'split' => {
    const { status, text } = answer;
    if (status >= 200 && status < 300) {
      const rejected = rejectionsIn(text, count);
      return { accepted: count - rejected.length, rejected };
    }
    if (status !== 400 && status !== 413) throw new BatchRefusedError(answer);
    const listed = listedRejections(text, count);
    if (listed.length === count) return { accepted: 0, rejected: listed };
    if (count > 1) return 'split';
    if (everAccepted === 0 && everRejected >= hopelessRejections) throw new BatchRefusedError(answer);
    const code = codeIn(text) ?? (status === 413 ? 'request_too_large' : 'rejected');
    return { accepted: 0, rejected: [{ index: 0, code, detail: detailIn(text) ?? `status ${status}` }] };
  };

  const send = async (
    events: BatchEvents,
    from: number,
    to: number,
    report: (outcome: BatchOutcome) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const body = await compress(Buffer.concat([Buffer.from(head), bytesOf(events.json(from, to)), tail]), { level: 1 });
    const outcome = settle(await request(body, signal), to - from);
    if (outcome === 'split') {
      const middle = from + Math.ceil((to - from) / 2);
      await send(events, from, middle, report, signal);
      await send(events, middle, to, report, signal);
      return;
    }
    everAccepted += outcome.accepted;
    everRejected += outcome.rejected.length;
    const rejected = outcome.rejected.map((each) => ({ ...each, index: each.index + from }));
    report({ accepted: outcome.accepted, rejected });
  };
  return (events, report, signal) => send(events, 0, events.count, report, signal);
}

const tail = Buffer.from(']}');

function bytesOf(json: Uint8Array | string): Uint8Array {
  return typeof json === 'string' ? Buffer.from(json) : json;
}
