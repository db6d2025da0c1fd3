/** Records what import runs do in the metrics, log and error of their configs, as for transformations. */
import { isoMicros, type Clock } from '../../base/clock.ts';
import { counted, integer } from '../../base/integer-text.ts';
import { hourMs } from '../../base/time.ts';
import type { RunWatcher } from '../../imports/run/run-watcher.ts';
import type { Run, RunTotals } from '../../imports/run/run.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { PluginLogLevel } from '../../stores/metadata/tables/plugins.ts';
import { setConfigError } from '../../plugins/configs/set-config-error.ts';
import { addConfigCounts, type ConfigCounts } from '../../plugins/services/config-metrics.ts';
import { createPluginLogs } from '../../plugins/services/plugin-logs.ts';
import { createWriteBuffer } from '../../plugins/services/write-buffer.ts';
import type { Log } from '../telemetry/log.ts';

export interface ImportConfigWatcherDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  /** Retention of log lines. */
  readonly days: number;
}

export interface ImportConfigWatcher extends RunWatcher {
  /** Writes what is still buffered. */
  close(): Promise<void>;
}

/** Source of a config's error: only a run clears what a run has set. */
const importSource = 'import';

type Figures = Pick<ConfigCounts, 'succeeded' | 'failed' | 'dropped'>;

/** Metrics: loaded events, rejected records and events, and skipped ones. */
export function createImportConfigWatcher({ db, clock, log, days }: ImportConfigWatcherDeps): ImportConfigWatcher {
  const logs = createPluginLogs(db, { days, clock, log });
  const countedRuns = new Map<string, Figures>();
  const counts = createWriteBuffer<ConfigCounts>({
    what: 'metrics of imports',
    log,
    rowsPerWrite: 100,
    rowsMax: 10_000,
    flushMs: 1000,
    write: (rows) => db.transaction().execute((tx) => addConfigCounts(tx, merged(rows))),
  });
  const errors = createWriteBuffer<{ readonly configId: number; readonly error: string }>({
    what: 'errors of imports',
    log,
    rowsPerWrite: 1,
    rowsMax: 1000,
    flushMs: 100,
    write: async (rows) => {
      for (const { configId, error } of rows) await writeError(db, configId, error, clock.now());
    },
  });
  const say = ({ id, configId, projectId }: Run, level: PluginLogLevel, message: string): void => {
    const line = {
      time: clock.now(),
      level,
      source: 'SYSTEM',
      message: `Run ${id}: ${message}`,
      instanceId: id,
    } as const;
    logs.add(configId, projectId, line);
  };
  const count = ({ id, configId, projectId, totals }: Run): void => {
    const now = figuresOf(totals);
    const before = countedRuns.get(id);
    // Progress before this process was counted already.
    countedRuns.set(id, before === undefined ? now : highest(before, now));
    if (before === undefined) return;
    const more = growth(before, now);
    if (more.succeeded + more.failed + more.dropped === 0) return;
    const at = clock.now();
    counts.add({ configId, projectId, hour: isoMicros(at - (at % hourMs)), ...more, skipped: 0, micros: 0 });
  };
  return {
    entered: (run, stage) => {
      if (!countedRuns.has(run.id)) {
        count(run);
        errors.add({ configId: run.configId, error: '' });
      }
      say(run, 'INFO', `${stage} begins`);
    },
    progressed: count,
    waits: (run, reason) => say(run, 'WARN', `waits: ${reason}`),
    ended: (run, how, reason) => {
      count(run);
      countedRuns.delete(run.id);
      if (how === 'failed') errors.add({ configId: run.configId, error: reason });
      say(run, how === 'failed' ? 'ERROR' : 'INFO', how === 'failed' ? `failed: ${reason}` : words[how](run.totals));
    },
    close: async () => {
      await Promise.all([logs.close(), counts.close(), errors.close()]);
    },
  };
}

const words = {
  completed: ({ records, rejected, loaded }: RunTotals) =>
    `completed: ${counted(records, 'record')}, ${integer(rejected)} rejected, ${counted(loaded, 'event')} loaded`,
  lost: () => 'paused, cancelled or resumed elsewhere',
  released: () => 'the service is stopping; the run will be resumed',
} as const;

function figuresOf({ loaded, rejected, skipped, left_out: leftOut = {} }: RunTotals): Figures {
  const sum = (reasons: Readonly<Record<string, number>>): number =>
    Object.values(reasons).reduce((one, other) => one + other, 0);
  return { succeeded: loaded, failed: rejected, dropped: sum(skipped) + sum(leftOut) };
}

/** A repeated stage counts from zero; what it did before is not counted again. */
function highest(one: Figures, other: Figures): Figures {
  return {
    succeeded: Math.max(one.succeeded, other.succeeded),
    failed: Math.max(one.failed, other.failed),
    dropped: Math.max(one.dropped, other.dropped),
  };
}

function growth(before: Figures, now: Figures): Figures {
  return {
    succeeded: Math.max(0, now.succeeded - before.succeeded),
    failed: Math.max(0, now.failed - before.failed),
    dropped: Math.max(0, now.dropped - before.dropped),
  };
}

/** Merges rows into one per config and hour. */
function merged(rows: readonly ConfigCounts[]): ConfigCounts[] {
  const groups = Map.groupBy(rows, ({ configId, hour }) => `${configId} ${hour}`);
  return [...groups.values()].flatMap((group) => {
    const [first, ...others] = group;
    if (first === undefined) return [];
    const sum = { ...first };
    for (const { succeeded, failed, dropped } of others) {
      sum.succeeded += succeeded;
      sum.failed += failed;
      sum.dropped += dropped;
    }
    return [sum];
  });
}

async function writeError(db: Metadata, configId: number, error: string, now: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const config = await tx
      .selectFrom('plugin_configs')
      .select('error_source')
      .where('id', '=', configId)
      .executeTakeFirst();
    if (error === '' && config?.error_source !== importSource) return;
    await setConfigError(tx, configId, { error, source: importSource }, now);
  });
}
