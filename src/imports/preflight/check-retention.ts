import { counted, integer, plural } from '../../base/integer-text.ts';
import { TargetWaitError, type ExpiredBefore } from '../target.ts';
import { fine, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';
import type { SourceSample } from './sample-source.ts';

/** Checks whether the project keeps events as old as those of the source. */
export const checkRetention: PreflightCheck = {
  name: 'retention',
  run: async ({ deps, options, estimate, target, signal }) => {
    if (options.last === 'check') return [];
    const expiredBefore = (await deps.expiredBefore?.()) ?? (await ofTarget(target, signal));
    if (expiredBefore === undefined) return [];
    const sample = await estimate();
    const beyond = ofSample(expiredBefore, sample?.times ?? []) ?? ofRange(expiredBefore, options.range.from);
    return [beyond ?? fine('the project keeps historical events as old as the first ones of the source')];
  },
  late: () => warning('check_failed', 'expected the retention of the project, got no response in time', null),
};

async function ofTarget(target: PreflightContext['target'], signal: AbortSignal): Promise<ExpiredBefore | undefined> {
  try {
    return await (await target())?.reader?.expiredBefore?.(signal);
  } catch (error) {
    // The check of the target reports it.
    if (error instanceof TargetWaitError) return undefined;
    throw error;
  }
}

const advice = 'set more days in the retention of the project first, or limit the dates of the import';

function ofSample(expiredBefore: ExpiredBefore, times: SourceSample['times']): Finding | undefined {
  const old = times.filter(({ event, time }) => time < (expiredBefore(event) ?? -Infinity));
  const [first] = old;
  if (first === undefined) return undefined;
  const limit = expiredBefore(first.event);
  const found =
    `${integer(old.length)} of the first ${counted(times.length, 'event')} ${plural(old.length, 'is', 'are')} older than the project ` +
    `keeps historical events (${first.event} from ${dayOf(limit ?? 0)} on); such events would be removed in the night after the import`;
  return warning('beyond_retention', found, advice);
}

/** Checks the requested dates, for names without separate days. */
function ofRange(expiredBefore: ExpiredBefore, from: string | undefined): Finding | undefined {
  const limit = expiredBefore('');
  if (from === undefined || limit === null || !(Date.parse(from) < limit)) return undefined;
  const found =
    `the import begins on ${from.slice(0, 10)}, and the project keeps historical events from ${dayOf(limit)} on; older ones would be ` +
    'removed in the night after the import';
  return warning('beyond_retention', found, advice);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
