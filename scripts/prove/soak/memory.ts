import { residentBytes } from '../../bench/process.ts';
import { proofParts, type ProofPart, type ProofService } from '../one-machine/service.ts';
import { fitLine, type Line, type Sample } from './fit.ts';

/** Resident memory of each process, MB over hours since the beginning. */
export type MemorySamples = Readonly<Record<ProofPart, readonly Sample[]>>;

export interface MemoryWatch {
  readonly samples: MemorySamples;
  stop(): void;
}

const bytesPerMegabyte = 1_000_000;
const msPerHour = 3_600_000;

export function watchMemory(service: Pick<ProofService, 'pids'>, everyMs: number): MemoryWatch {
  const samples: Record<ProofPart, Sample[]> = { service: [], store: [], plugins: [] };
  const started = performance.now();
  const timer = setInterval(() => {
    const pids = service.pids();
    for (const part of proofParts) {
      const value = residentBytes(pids[part] ?? 0) / bytesPerMegabyte;
      // None: it is not there now.
      if (value > 0) samples[part].push({ hours: (performance.now() - started) / msPerHour, value });
    }
  }, everyMs);
  return { samples, stop: () => clearInterval(timer) };
}

export interface Growth extends Line {
  readonly part: ProofPart;
  /** MB at the beginning and the end of what is fitted. */
  readonly first: number;
  readonly last: number;
  readonly samples: number;
  /** Whether it grows by more than chance and more than is allowed. */
  readonly isTooMuch: boolean;
}

const errorsMin = 3;

/** `limitPerHour`: MB. What was read before `afterHours` is warming up. */
export function growthOf(samples: MemorySamples, afterHours: number, limitPerHour: number): Growth[] {
  return proofParts.flatMap((part) => {
    const own = samples[part].filter(({ hours }) => hours >= afterHours);
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    const line = fitLine(own);
    const isTooMuch = line.perHour > errorsMin * line.standardError && line.perHour > limitPerHour;
    return [{ part, ...line, first: first.value, last: last.value, samples: own.length, isTooMuch }];
  });
}
