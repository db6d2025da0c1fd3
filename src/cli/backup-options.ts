import { counted } from '../base/integer-text.ts';
import { Option, type Command } from 'commander';
import type { BackupProgress } from '../stores/backup/backup-progress.ts';
import type { BackupCounts } from '../stores/backup/manifest.ts';
import type { Settings } from '../server/config/settings.ts';
import type { BackupJob, BackupPlace } from '../server/service/backup.ts';
import { CommandError } from './exit-codes.ts';
import { numberText, percent, startProgressLine } from './progress-line.ts';
import { runUntilStopped } from './stop-signal.ts';
import type { Terminal } from './terminal.ts';

export interface BucketOptions extends Readonly<Record<string, unknown>> {
  readonly json?: boolean;
  readonly region: string;
  readonly endpoint?: string;
}

/** Adds the options of a bucket. Credentials are found as every AWS tool finds them. */
export function addBucketOptions(command: Command): Command {
  return command
    .addOption(new Option('--region <region>', 'region of a bucket').env('AWS_REGION').default('us-east-1'))
    .addOption(new Option('--endpoint <url>', 'endpoint of a bucket that is not on AWS').env('AWS_ENDPOINT_URL'));
}

export function placeFrom(place: string, { region, endpoint }: BucketOptions): BackupPlace {
  return { place, bucket: { region, ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }) } };
}

/** Runs `work` and shows its progress. Errors: CommandError. */
export async function runBackupJob<T>(
  settings: Settings,
  terminal: Terminal,
  work: (job: BackupJob) => Promise<T>,
): Promise<T> {
  const { createLog, stderrLines } = await import('../server/telemetry/log.ts');
  const shown = { step: 'reading both sides', bytes: 0, total: 0 };
  const line = startProgressLine(
    () => (shown.total === 0 ? shown.step : `${shown.step}  ${percent(shown.bytes / shown.total)}`),
    terminal.process.stderr,
  );
  const progress: BackupProgress = {
    step: (step, total = 0) => Object.assign(shown, { step, total, bytes: 0 }),
    bytes: (count) => (shown.bytes += count),
    note: (sentence) => line.say(sentence),
  };
  const level = settings.logLevel === 'info' ? 'warn' : settings.logLevel;
  const log = createLog(
    level,
    stderrLines(() => undefined),
  );
  try {
    return await runUntilStopped(terminal.process, (signal) => work({ log, progress, signal }));
  } catch (error) {
    // Compared by name: loading the modules for their classes would slow every command down.
    const isReported = error instanceof Error && /^(BackupRefused|BackupDamaged|Bucket)Error$/.test(error.name);
    if (isReported) throw new CommandError('failed', error.message, { cause: error });
    throw error;
  } finally {
    line.stop();
  }
}

/** Returns `3,000 events of 2 projects, 20 waiting to be stored, 812 rows of metadata`. */
export function countsText({ events, waiting, tables }: BackupCounts): string {
  const stored = events.reduce((sum, month) => sum + month.events, 0);
  const projects = new Set(events.map(({ project }) => project)).size;
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  const left = waiting.live.events + waiting.historical.events;
  return `${counted(stored, 'event')} of ${counted(projects, 'project')}, ${numberText(left)} waiting to be stored, ${counted(rows, 'row')} of metadata`;
}
