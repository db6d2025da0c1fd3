import type { LeasedRun } from '../../run/leased-run.ts';
import { sleep as standardSleep, type Sleep } from '../../../base/retry.ts';
import { uploadsPrefix, type Staging } from '../../staging.ts';

/** How much may lie in staging; shared by the runs that write there. */
export interface DiskQuota {
  /** Resolves when more may be written; shows meanwhile what the run waits for. Rejects when the run is to stop. */
  wait(leased: Pick<LeasedRun, 'signal' | 'waiting'>): Promise<void>;
  /** So many bytes more lie there. */
  wrote(bytes: number): void;
  /** What there is room for now. */
  room(): Promise<Room>;
}

export interface Room {
  /** Why nothing more may be written; undefined: something may. */
  readonly shortage: string | undefined;
  /** So much may be written; undefined: nobody can tell. */
  readonly bytes: number | undefined;
}

export interface DiskQuotaDeps {
  readonly staging: Staging;
  /** Bytes that all runs together may stage; 0: no limit. */
  readonly budgetBytes: number;
  /** Free on the disk; undefined: nobody can tell (a bucket). */
  readonly freeBytes: () => Promise<number | undefined>;
  /** That many bytes stay free on the disk. */
  readonly reserveBytes?: number;
  readonly sleep?: Sleep;
}

const reserveBytesDefault = 1024 ** 3;
const pollMs = 5000;
/** Between two counts of what lies in staging; in between what is written is added. */
const countEveryMs = 30_000;

export function createDiskQuota(deps: DiskQuotaDeps): DiskQuota {
  const { staging, budgetBytes, freeBytes, reserveBytes = reserveBytesDefault, sleep = standardSleep } = deps;
  let used = 0;
  let countedAt = -Infinity;
  const shortage = async (force: boolean): Promise<string | undefined> => {
    const free = await freeBytes();
    if (free !== undefined && free < reserveBytes) {
      return `${staging.description} is on a disk with ${megabytes(free)} left of which ${megabytes(reserveBytes)} stay free; make room`;
    }
    if (budgetBytes === 0) return undefined;
    if (force || performance.now() - countedAt > countEveryMs) {
      used = await bytesOfRuns(staging);
      countedAt = performance.now();
    }
    if (used < budgetBytes) return undefined;
    return (
      `${staging.description} holds ${megabytes(used)} of the ${megabytes(budgetBytes)} allowed; finish, cancel or remove ` +
      'other runs, or raise the disk budget'
    );
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

/** Uploads have a limit of their own. */
async function bytesOfRuns(staging: Staging): Promise<number> {
  const files = await staging.list('');
  return files.reduce((sum, { key, bytes }) => (key.startsWith(uploadsPrefix) ? sum : sum + bytes), 0);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2).toLocaleString('en-GB')} MiB`;
}
