import { setTimeout as delay } from 'node:timers/promises';
import { createSender, sendAlone, type Exchange, type Numbered } from './connection.ts';
import { faultOf, isRefusedForNow } from './oracle.ts';
import type { World } from './request.ts';
import { requestAt } from './requests.ts';

export interface Slice {
  readonly seed: number;
  readonly from: number;
  /** Behind the last one. */
  readonly to: number;
}

export interface SliceResult {
  readonly statuses: ReadonlyMap<number, number>;
  /** Milliseconds of the answers of each kind, added up, and how many there were. */
  readonly kinds: ReadonlyMap<string, { readonly count: number; readonly ms: number }>;
  readonly slowest: Exchange | undefined;
  /** Of good events that were taken. */
  readonly witnesses: readonly string[];
  readonly faults: readonly string[];
  /** What was not sent, because the time of the slice was over. */
  readonly unsent: number;
}

const connections = 24;
const pipelinedMax = 8;
const answerMsMax = 30_000;
const triesMax = 100;

/** Sends the requests of one slice over several connections, a few at once on each. Ends after `limitMs`. */
export async function runSlice(port: number, world: World, slice: Slice, limitMs: number): Promise<SliceResult> {
  const { seed, from, to } = slice;
  const deadline = performance.now() + limitMs;
  const notes = createNotes(seed);
  let next = from;
  const take = (): Numbered | undefined => {
    if (next >= to || performance.now() > deadline) return undefined;
    const number = next++;
    return { number, request: requestAt(seed, number, world) };
  };
  const work = async (): Promise<void> => {
    const sender = createSender(port, answerMsMax);
    for (let first = take(); first !== undefined; first = take()) {
      const group: Numbered[] = [];
      const size = 1 + (first.number % pipelinedMax);
      let each: Numbered | undefined = first;
      for (; each !== undefined && each.request.ending === 'whole'; each = group.length < size ? take() : undefined)
        group.push(each);
      for (const exchange of await sender.sendAll(group)) {
        notes.add(isRefusedForNow(exchange) ? await sendAgain(sender.sendAll, exchange) : exchange);
      }
      if (each !== undefined) notes.add(await sendAlone(port, each, answerMsMax));
    }
    sender.close();
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { ...notes.result(), unsent: to - next };
}

async function sendAgain(
  send: (requests: readonly Numbered[]) => Promise<Exchange[]>,
  refused: Exchange,
): Promise<Exchange> {
  let last = refused;
  for (let tried = 1; tried < triesMax && isRefusedForNow(last); tried += 1) {
    await delay(250);
    last = (await send([refused]))[0] ?? last;
  }
  return last;
}

function createNotes(seed: number) {
  const statuses = new Map<number, number>();
  const kinds = new Map<string, { count: number; ms: number }>();
  const witnesses: string[] = [];
  const faults: string[] = [];
  let slowest: Exchange | undefined;
  const add = (exchange: Exchange): void => {
    const { request, answer, ms, number } = exchange;
    const status = answer?.status ?? 0;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const kind = kinds.get(request.kind) ?? { count: 0, ms: 0 };
    kinds.set(request.kind, { count: kind.count + 1, ms: kind.ms + ms });
    if (request.ending !== 'silent' && ms > (slowest?.ms ?? 0)) slowest = exchange;
    if (request.witness !== undefined && status === 200) witnesses.push(request.witness);
    const fault =
      request.witness !== undefined && status === 503 ? 'a valid event was refused permanently' : faultOf(exchange);
    if (fault === undefined) return;
    const sent = JSON.stringify(request.bytes.toString('latin1', 0, 300));
    const told = answer === undefined ? '' : `; ${answer.body.toString('utf8', 0, 300)}`;
    faults.push(`--seed ${seed} --from ${number} (${request.kind}): ${fault}${told}; sent ${sent}`);
  };
  return { add, result: () => ({ statuses, kinds, witnesses, faults, slowest }) };
}
