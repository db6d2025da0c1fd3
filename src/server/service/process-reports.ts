/** What the processes of a cluster tell each other of themselves: each writes a row every two seconds, and the status reads them all. */
import { repeat } from '../../base/repeat.ts';
import type { LaneStatus } from '../../wire/contract/status.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { HealthResult } from '../http/health.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { listReports, pruneReports, removeReport, writeReport } from '../../stores/metadata/service-processes.ts';
import type { WarnLog } from '../telemetry/log.ts';
import type { Role } from './roles.ts';

/** What a process knows alone; what waits in the log each of them knows of all. */
export type OwnLane = Pick<LaneStatus, 'oldest_seconds' | 'lag_seconds' | 'received_per_second' | 'stored_per_second'>;

export interface ProcessReport {
  /** `host:port`. */
  readonly name: string;
  readonly roles: readonly Role[];
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly lanes: Readonly<Record<Lane, OwnLane>>;
  /** Events of each project accepted per second. */
  readonly received: Readonly<Record<string, Readonly<Record<Lane, number>>>>;
  readonly parts: Readonly<Record<string, HealthResult>>;
}

export interface HeardProcess {
  readonly id: string;
  readonly report: ProcessReport;
  readonly silentMs: number;
}

/** The shape of a report; processes of other versions may write others, which are passed over. */
const form = 1;
const reportMs = 2000;
/** After which one that went without a word is forgotten. */
const forgetMs = 60_000;
const pruneMs = 30_000;
/** Without a word for so long, it does not count any more. */
export const silentMsMax = 10_000;

export interface ProcessReportsDeps {
  readonly db: Metadata;
  readonly log: WarnLog;
  readonly processId: string;
  readonly own: () => Promise<ProcessReport>;
}

/** Those of all other processes. `parts` takes what has to be stopped. */
export function startProcessReports(
  { db, log, processId, own }: ProcessReportsDeps,
  parts: AsyncDisposableStack,
): () => Promise<readonly HeardProcess[]> {
  const stop = new AbortController();
  const onTrouble = (err: unknown): void =>
    log.warn({ err }, 'other processes do not hear how this one is; trying again');
  const deps = { signal: stop.signal, onTrouble };
  const write = async (): Promise<void> => writeReport(db, processId, JSON.stringify({ form, report: await own() }));
  const loops = [repeat(reportMs, write, deps), repeat(pruneMs, () => pruneReports(db, forgetMs), deps)];
  parts.defer(async () => {
    stop.abort();
    await Promise.all(loops);
    await removeReport(db, processId).catch(onTrouble);
  });
  return async () => {
    const stored = await listReports(db);
    return stored.flatMap(({ id, seenMsAgo: silentMs, report: text }) => {
      const read = JSON.parse(text) as { readonly form: number; readonly report: ProcessReport };
      return id === processId || read.form !== form ? [] : [{ id, silentMs, report: read.report }];
    });
  };
}
