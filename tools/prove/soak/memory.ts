import { readFileSync } from 'node:fs';
import { residentBytes } from '../../bench/process.ts';
import { proofParts, type ProofPart, type ProofService } from '../one-machine/service.ts';
import { fitLine, type Line, type Sample } from './fit.ts';
import type { Heaps } from './heaps.ts';

/**
 * Resident memory of each process; for the service also the memory that its threads use after full collections, and the memory outside
 * of V8's heaps (buffers, SQLite, threads).
 */
const watchedMemory = [...proofParts, 'live', 'outside'] as const;
export type WatchedMemory = (typeof watchedMemory)[number];

/** MB over hours since the beginning. */
export type MemorySamples = Readonly<Record<WatchedMemory, readonly Sample[]>>;

export interface MemoryWatch {
  readonly samples: MemorySamples;
  stop(): void;
}

const bytesPerMegabyte = 1_000_000;
const msPerHour = 3_600_000;

export function watchMemory(service: Pick<ProofService, 'pids'>, heaps: Heaps, everyMs: number): MemoryWatch {
  const samples: Record<WatchedMemory, Sample[]> = { service: [], store: [], plugins: [], live: [], outside: [] };
  const started = performance.now();
  const take = (what: WatchedMemory, bytes: number): void => {
    // None: it is not there now.
    if (bytes <= 0) return;
    samples[what].push({ hours: (performance.now() - started) / msPerHour, value: bytes / bytesPerMegabyte });
  };
  const timer = setInterval(() => {
    const pids = service.pids();
    for (const part of proofParts) take(part, residentBytes(pids[part] ?? 0));
    take('live', heaps.liveBytes() ?? 0);
    take('outside', anonymousBytes(pids.service) - heaps.heldBytes());
  }, everyMs);
  return { samples, stop: () => clearInterval(timer) };
}

/** Without files that are mapped. 0: there is no such process. */
function anonymousBytes(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const [, kibibytes = '0'] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

export interface Growth extends Line {
  readonly what: WatchedMemory;
  /** MB at the beginning and the end of what is fitted, and the most. */
  readonly first: number;
  readonly last: number;
  readonly most: number;
  readonly samples: number;
  /** Whether it grows by more than chance and more than is allowed. */
  readonly isTooMuch: boolean;
}

const errorsMin = 3;
/** V8 keeps free pages by the hundred MB and gives them back in steps: a line through that says nothing. The rest of it is judged. */
const shownOnly: ReadonlySet<WatchedMemory> = new Set<ProofPart>(['service']);

/** `limitPerHour`: MB. What was read before `afterHours` is warming up. */
export function growthOf(samples: MemorySamples, afterHours: number, limitPerHour: number): Growth[] {
  return watchedMemory.flatMap((what) => {
    const own = samples[what].filter(({ hours }) => hours >= afterHours);
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    const line = fitLine(own);
    const grows = line.perHour > errorsMin * line.standardError && line.perHour > limitPerHour;
    const most = Math.max(...own.map(({ value }) => value));
    const isTooMuch = grows && !shownOnly.has(what);
    return [{ what, ...line, first: first.value, last: last.value, most, samples: own.length, isTooMuch }];
  });
}
