import { randomUUID } from 'node:crypto';
import type { Room } from '../stages/export/disk-quota.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';

/**
 * Bytes of staging per byte of the source: its records, what the check spills and the days of events lie there together, all of
 * them compressed. Sources are compressed mostly; of plain text about a tenth is left.
 */
const leastFactor = 0.1;
const mostFactor = 3;

/** Whether files can be staged, and whether there is room for all of them. */
export const checkStaging: PreflightCheck = {
  name: 'staging',
  look: async (context) => {
    const { staging, quota } = context.deps;
    const unwritable = await tryToWrite(context);
    if (unwritable !== undefined) return [unwritable];
    const room = await quota.room();
    if (room.shortage !== undefined) return [problem('staging_full', room.shortage, null)];
    const bytes = (await context.estimate())?.bytesTotal;
    return [judge(context, room, bytes) ?? fine(`${staging.description} can be written to${roomText(room)}`)];
  },
  // A disk that is busy is late, too: the run is let try, and says what it meets.
  late: ({ deps: { staging }, words }, seconds) =>
    warning(
      'staging_unwritable',
      `${staging.description} did not take a file within ${seconds} s`,
      `see whether it can be reached, or choose another place with ${words.staging}`,
    ),
};

async function tryToWrite({ deps: { staging }, words }: PreflightContext): Promise<Finding | undefined> {
  const key = `preflight-${randomUUID()}`;
  try {
    await staging.write(key, [Buffer.from('{}')]);
    await staging.remove(key);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const advice = `see who may write there, or choose another place with ${words.staging}`;
    return problem('staging_unwritable', `${staging.description} cannot be written to (${reason})`, advice);
  }
}

function judge({ deps: { staging }, words }: PreflightContext, { bytes }: Room, sourceBytes: number | undefined) {
  if (bytes === undefined || sourceBytes === undefined) return undefined;
  const has = `${staging.description} has room for ${sizeOf(bytes)}, and the source has ${sizeOf(sourceBytes)}`;
  const advice = `make room, or choose another place with ${words.staging}`;
  if (sourceBytes * leastFactor > bytes) return problem('staging_small', has, advice);
  return sourceBytes * mostFactor > bytes
    ? warning('staging_small', `${has}, which may become too much`, advice)
    : undefined;
}

function roomText({ bytes }: Room): string {
  return bytes === undefined ? '' : ` and has room for ${sizeOf(bytes)}`;
}

export function sizeOf(bytes: number): string {
  if (bytes >= 1024 ** 3) return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  return `${Math.round(bytes / 1024 ** 2).toLocaleString('en-GB')} MiB`;
}
