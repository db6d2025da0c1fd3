import { objectIn } from '../../base/json.ts';
import { networkFault } from '../../base/network-fault.ts';
import {
  TargetUnreadableError,
  TargetWaitError,
  type EndpointFacts,
  type KeyFacts,
  type ReaderFacts,
  type TargetProbe,
  type TargetReader,
} from '../target.ts';
import { detailIn, isTransient, type Answer } from './batch-answer.ts';
import type { HttpRequest } from './http-request.ts';

export interface ProbeOptions {
  /** The address without `/batch/` and without a slash at the end. */
  readonly base: string;
  readonly apiKey: string;
  readonly request: HttpRequest;
  /** Undefined: there is no personal key. */
  readonly reader: TargetReader | undefined;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** A day on which nobody has events. */
const emptyDay = '1970-01-02';
/** Addresses tried when this one is wrong. */
const basesMax = 5;

/** Of any service that speaks `/batch/`: an empty batch, a question for feature flags, a count of no events. */
export function probeHttpTarget(options: ProbeOptions): TargetProbe {
  return {
    endpoint: (signal) => probeEndpoint(options, signal),
    projectKey: (signal) => probeProjectKey(options, signal),
    reader: (signal) => probeReader(options.reader, signal),
  };
}

async function probeEndpoint(options: ProbeOptions, signal: AbortSignal): Promise<EndpointFacts> {
  const askedAt = options.now();
  let answer: Answer;
  try {
    answer = await postEmpty(options, options.base, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'unreachable', fault: networkFault(error) };
  }
  const date = answer.date === undefined ? Number.NaN : Date.parse(answer.date);
  const clock = Number.isNaN(date) ? {} : { skewMs: date - (askedAt + options.now()) / 2 };
  const { status } = answer;
  if (status >= 300 && status < 400) return { ...clock, kind: 'moved', to: answer.location };
  if (isTransient(status)) return { ...clock, kind: 'busy', status };
  if (await takesBatches(options, options.base, answer, signal)) return { ...clock, kind: 'takes_batches' };
  const url = await otherBase(options, signal);
  return url === undefined ? { ...clock, kind: 'foreign', status } : { ...clock, kind: 'elsewhere', url };
}

/** A batch without events; whoever takes batches refuses it, or takes nothing. Plain, so that any service can read it. */
function postEmpty(
  { apiKey, request }: ProbeOptions,
  base: string,
  signal: AbortSignal,
  path = 'batch',
): Promise<Answer> {
  const body = Buffer.from(JSON.stringify({ api_key: apiKey, historical_migration: true, batch: [] }));
  const headers = { 'content-type': 'application/json' };
  return request({ url: `${base}/${path}/`, method: 'POST', headers, body, signal });
}

/**
 * Whether the answer to an empty batch is that of a service which knows batches: JSON where it went well (a web page answers
 * with HTML), a refusal of the key, or a refusal that a path which surely does not exist does not get as well.
 */
async function takesBatches(
  options: ProbeOptions,
  base: string,
  answer: Answer,
  signal: AbortSignal,
): Promise<boolean> {
  const { status, text } = answer;
  if (status >= 200 && status < 300) return text === '' || objectIn(text) !== undefined;
  if (status === 401 || status === 403) return true;
  if (status !== 400 && status !== 413 && status !== 422) return false;
  const control = await postEmpty(options, base, signal, 'no-such-path');
  return control.status !== status;
}

/** The same address with less of a path, if batches are taken there. */
async function otherBase(options: ProbeOptions, signal: AbortSignal): Promise<string | undefined> {
  const { origin, pathname } = new URL(options.base);
  const steps = pathname.split('/').filter((step) => step !== '');
  const bases = steps.map((_, index) => [origin, ...steps.slice(0, steps.length - 1 - index)].join('/'));
  const taken = await Promise.all(
    bases.slice(0, basesMax).map(async (base) => {
      try {
        return await takesBatches(options, base, await postEmpty(options, base, signal), signal);
      } catch {
        // No answer is no better address; that the time is over says the caller.
        return false;
      }
    }),
  );
  signal.throwIfAborted();
  return bases.find((_, index) => taken[index] === true);
}

/** The request that clients begin with: a service that knows feature flags refuses it for a key that it does not know. */
async function probeProjectKey({ base, apiKey, request }: ProbeOptions, signal: AbortSignal): Promise<KeyFacts> {
  const body = Buffer.from(JSON.stringify({ token: apiKey, distinct_id: 'millrace-preflight', disable_flags: true }));
  let answer: Answer;
  try {
    const headers = { 'content-type': 'application/json' };
    answer = await request({ url: `${base}/flags/?v=2`, method: 'POST', headers, body, signal });
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'unclear', detail: networkFault(error) };
  }
  const detail = detailIn(answer.text);
  const said = detail === undefined ? {} : { detail };
  if (answer.status === 200 && objectIn(answer.text) !== undefined) return { kind: 'known' };
  return answer.status === 401 || answer.status === 403 ? { kind: 'unknown', ...said } : { kind: 'unclear', ...said };
}

async function probeReader(reader: TargetReader | undefined, signal: AbortSignal): Promise<ReaderFacts> {
  if (reader === undefined) return { kind: 'no_key' };
  try {
    await reader.dayCounts(emptyDay, signal, 'crc32');
    return { kind: 'reads' };
  } catch (error) {
    if (error instanceof TargetUnreadableError) return { kind: error.code, detail: error.message };
    if (error instanceof TargetWaitError) return { kind: 'unclear', detail: error.message };
    throw error;
  }
}
