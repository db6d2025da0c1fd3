import type { LeasedRun } from '../../run/leased-run.ts';
import { sleep as standardSleep, type Sleep } from '../../../base/retry.ts';
import { exportsPrefix, uploadsPrefix, type Staging } from '../../staging.ts';

/** Limits the size of staging; shared by the runs that write there. */
export interface DiskQuota {
  /** Resolves when more may be written, and shows until then what the run waits for. Rejects when the run must stop. */
  wait(leased: Pick<LeasedRun, 'signal' | 'waiting'>): Promise<void>;
  /** Adds written bytes. */
  wrote(bytes: number): void;
  /** Returns the present room. */
  room(): Promise<Room>;
}

export interface Room {
  /** Why nothing more may be written. */
  readonly shortage: string | undefined;
  /** Bytes that may be written, if known. */
  readonly bytes: number | undefined;
}

interface DiskQuotaDeps {
  readonly staging: Staging;
  /** Bytes that all runs together may stage; 0 means no limit. */
  readonly budgetBytes: number;
  /** Free bytes of the disk; `undefined` if unknown (a bucket). */
  readonly freeBytes: () => Promise<number | undefined>;
  /** Bytes of the disk that stay free. */
  readonly reserveBytes?: number;
  readonly sleep?: Sleep;
  /** What to do beyond the budget. */
  readonly advice?: string;
}

const adviceDefault = 'finish, cancel or remove other runs, or raise the disk budget';
const reserveBytesDefault = 1024 ** 3;
const pollMs = 5000;
/** Interval of measuring staging; written bytes are added in between. */
const measureEveryMs = 30_000;

export function createDiskQuota(deps: DiskQuotaDeps): DiskQuota {
  const { staging, budgetBytes, freeBytes, reserveBytes = reserveBytesDefault, sleep = standardSleep } = deps;
  const { advice = adviceDefault } = deps;
  let used = 0;
  let measuredAt = -Infinity;
  const shortage = async (force: boolean): Promise<string | undefined> => {
    const free = await freeBytes();
    if (free !== undefined && free < reserveBytes) {
      return `${staging.description} is on a disk with ${megabytes(free)} left of which ${megabytes(reserveBytes)} stay free; free some space`;
    }
    if (budgetBytes === 0) return undefined;
    if (force || performance.now() - measuredAt > measureEveryMs) {
      used = await bytesOfRuns(staging);
      measuredAt = performance.now();
    }
    if (used < budgetBytes) return undefined;
    return `${staging.description} holds ${megabytes(used)} of the ${megabytes(budgetBytes)} allowed; ${advice}`;
  };
  return {
    wrote: (bytes) => void (used += bytes),
    async room() {
      const reason = await shortage(true);
      const free = await freeBytes();
      const rooms = [
        ...(free === undefined ? [] : [free - reserveBytes]),
        ...(budgetBytes === 0 ? [] : [budgetBytes - used]),
      ];
      return { shortage: reason, bytes: rooms.length === 0 ? undefined : Math.max(0, Math.min(...rooms)) };
    },
    async wait(leased) {
      for (let waited = false; ; waited = true) {
        leased.signal.throwIfAborted();
        const reason = await shortage(waited);
        if (reason === undefined) {
          if (waited) leased.waiting(null);
          return;
        }
        leased.waiting({ reason });
        await sleep(pollMs, leased.signal);
      }
    },
  };
}

/** Sums the files of runs; uploads and exports have separate limits. */
async function bytesOfRuns(staging: Staging): Promise<number> {
  const files = await staging.list('');
  const isOther = (key: string): boolean => key.startsWith(uploadsPrefix) || key.startsWith(exportsPrefix);
  return files.reduce((sum, { key, bytes }) => (isOther(key) ? sum : sum + bytes), 0);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2).toLocaleString('en-GB')} MiB`;
}
