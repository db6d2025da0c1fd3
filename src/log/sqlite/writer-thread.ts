/** Entry of the writer thread, which alone writes the log's files and waits for the disk. */
import { setTimeout as delay } from 'node:timers/promises';
import { receiveMessageOnPort, workerData } from 'node:worker_threads';
import { lanes, type Lane } from '../eventlog.ts';
import { LogOpenError, messageOf } from './format.ts';
import { createLogId } from './identity.ts';
import { LaneWriter } from './lane-writer.ts';
import { lockDirectory } from './lock.ts';
import { unpackRows } from './packed-rows.ts';
import { numbersPerSize, type FromWriterThread, type ToWriterThread, type WriterThreadData } from './protocol.ts';
import type { NewRow } from './segment.ts';
import { sharedPositions } from './shared-positions.ts';

/** Maximum of rows per commit, so that one lane cannot block the other for long. */
const commitRowsMax = 4096;
const commitBytesMax = 8 * 1024 * 1024;
/** How long commits of the consumer accumulate before their rows are deleted, unless an append does so earlier. */
const tidyAfterMs = 100;
const roundsPerTidy = 64;
const sizesPerMessage = 10_000;

const data = workerData as WriterThreadData;
const { port } = data;
const positions = sharedPositions(data.shared);
const queues: Record<Lane, NewRow[]> = { live: [], historical: [] };
/** The last reported problem of each lane, so that it is reported once. */
const tidyProblems: Record<Lane, string> = { live: '', historical: '' };
/** A request to remove files, with the first seqs of those that replaced them. */
interface Forgetting {
  readonly id: number;
  readonly firstSeqs: Readonly<Record<Lane, number>> | undefined;
}
const state: { closing: boolean; forgetting: readonly Forgetting[] } = { closing: false, forgetting: [] };
type LaneWriters = Readonly<Record<Lane, LaneWriter>>;

function send(message: FromWriterThread, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function take(message: ToWriterThread): void {
  if (message.kind === 'close') state.closing = true;
  else if (message.kind === 'forget')
    state.forgetting = [...state.forgetting, { id: message.id, firstSeqs: undefined }];
  else for (const row of unpackRows(message.rows)) queues[message.lane].push(row);
}

function takeAll(): void {
  for (;;) {
    const next = receiveMessageOnPort(port) as { message: ToWriterThread } | undefined;
    if (next === undefined) return;
    take(next.message);
  }
}

function nextBatch(queue: NewRow[]): NewRow[] {
  let bytes = 0;
  let count = 0;
  for (const row of queue) {
    bytes += row.body.byteLength;
    if (count > 0 && (count === commitRowsMax || bytes > commitBytesMax)) break;
    count += 1;
  }
  return queue.splice(0, count);
}

function appendBatch(lane: Lane, writer: LaneWriter): void {
  const rows = nextBatch(queues[lane]);
  if (rows.length === 0) return;
  try {
    send({ kind: 'appended', lane, count: rows.length, firstSeq: writer.append(rows) });
  } catch (error) {
    send({ kind: 'failed', lane, count: rows.length, reason: messageOf(error) });
  }
}

function appendEverything(writers: LaneWriters): void {
  takeAll();
  for (let round = 1; lanes.some((lane) => queues[lane].length > 0); round += 1) {
    for (const lane of lanes) {
      appendBatch(lane, writers[lane]);
      takeAll();
      // Under constant load this loop does not end, and nothing else frees space.
      if (round % roundsPerTidy === 0) tidyOnce(lane, writers[lane]);
    }
  }
}

/** Replaces files as requested, and answers once the replaced ones are removed. A disk that fails is tried again. */
function forgetFiles(writers: LaneWriters): void {
  state.forgetting = state.forgetting.flatMap(({ id, firstSeqs }) => {
    try {
      const begun = firstSeqs ?? { live: writers.live.replaceFile(), historical: writers.historical.replaceFile() };
      for (const lane of lanes) tidyOnce(lane, writers[lane]);
      if (lanes.some((lane) => writers[lane].hasOlder(begun[lane]))) return [{ id, firstSeqs: begun }];
      send({ kind: 'forgotten', id });
      return [];
    } catch (error) {
      send({ kind: 'problem', sentence: `failed to replace files of the event log, retrying: ${messageOf(error)}` });
      return [{ id, firstSeqs }];
    }
  });
}

/** Runs until the thread ends: wakes when the consumer commits, and frees space. */
async function tidyForever(writers: LaneWriters, afterAppends: () => void): Promise<void> {
  let seen = -1;
  while (!state.closing) {
    const count = positions.commitCount();
    if (count === seen) await positions.commitCountChange(seen);
    seen = count;
    await delay(tidyAfterMs, undefined, { ref: false });
    for (const lane of lanes) {
      while (!state.closing && tidyOnce(lane, writers[lane])) {
        appendEverything(writers);
        afterAppends();
      }
    }
    if (!state.closing) forgetFiles(writers);
  }
}

function tidyOnce(lane: Lane, writer: LaneWriter): boolean {
  try {
    const more = writer.tidy();
    tidyProblems[lane] = '';
    return more;
  } catch (error) {
    const sentence = `failed to free space of the ${lane} lane, retrying: ${messageOf(error)}`;
    if (tidyProblems[lane] !== sentence) send({ kind: 'problem', sentence });
    tidyProblems[lane] = sentence;
    return false;
  }
}

/** Sends the sizes of records that already waited at the start. */
function sendWaiting(lane: Lane, writer: LaneWriter): void {
  let numbers: number[] = [];
  const flush = () => {
    const packed = Float64Array.from(numbers);
    if (packed.length > 0) send({ kind: 'waiting', sizes: { lane, numbers: packed } }, [packed.buffer]);
    numbers = [];
  };
  for (const { seq, projectId, events, bytes } of writer.waiting()) {
    numbers.push(seq, projectId, events, bytes);
    if (numbers.length >= sizesPerMessage * numbersPerSize) flush();
  }
  flush();
}

function openLane(lane: Lane): LaneWriter {
  return new LaneWriter({
    dir: data.dir,
    lane,
    segmentBytes: data.segmentBytes,
    drainedFileBytes: data.drainedFileBytes,
    committed: data.committed[lane],
    positions,
    onProblem: (sentence) => send({ kind: 'problem', sentence }),
  });
}

function start(): void {
  let unlock: (() => void) | undefined;
  try {
    unlock = lockDirectory(data.dir);
    createLogId(data.dir);
    serve({ live: openLane('live'), historical: openLane('historical') }, unlock);
  } catch (error) {
    unlock?.();
    const refusal =
      error instanceof LogOpenError
        ? error
        : new LogOpenError('io', `expected to open the event log in ${data.dir}, got: ${messageOf(error)}`);
    send({ kind: 'refused', code: refusal.code, message: refusal.message });
    port.close();
  }
}

function serve(writers: LaneWriters, unlock: () => void): void {
  for (const lane of lanes) sendWaiting(lane, writers[lane]);
  send({ kind: 'ready' });
  const closeIfAsked = () => {
    if (!state.closing) return;
    for (const lane of lanes) writers[lane].close();
    unlock();
    port.close();
    positions.wakeAll();
  };
  port.on('message', (message: ToWriterThread) => {
    take(message);
    appendEverything(writers);
    if (!state.closing) forgetFiles(writers);
    closeIfAsked();
  });
  void tidyForever(writers, closeIfAsked);
}

start();
