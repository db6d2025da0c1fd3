import { randomUUID } from 'node:crypto';
import type { Room } from '../stages/export/disk-quota.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import type { PreflightContext } from './preflight-context.ts';

interface Factors {
  readonly least: number;
  readonly most: number;
}

/** Bytes of staging per byte of the source: its records, compressed. Most sources are compressed; plain text shrinks to about a tenth. */
const staged: Factors = { least: 0.1, most: 1 };
/** Bytes of the run's tables: 90 to 100 per event, a sixth of plain JSON and up to twice the size of gzipped JSON. */
export const inTables: Factors = { least: 0.1, most: 2 };

/** Checks whether files can be staged, and whether there is room for all of them. */
export const checkStaging: PreflightCheck = {
  name: 'staging',
  run: async (context) => {
    const { staging, quota } = context.deps;
    const unwritable = await tryToWrite(context);
    if (unwritable !== undefined) return [unwritable];
    const room = await quota.room();
    if (room.shortage !== undefined) return [problem('staging_full', room.shortage, null)];
    const bytes = (await context.estimate())?.bytesTotal;
    const hasTables = (await context.deps.tablesBesideStaging?.()) === true;
    return [
      findRoom(context, room, { bytes, hasTables }) ??
        fine(`${staging.description} can be written to${roomText(room)}`),
    ];
  },
  // A busy disk is late too: the run tries, and reports any fault.
  late: ({ deps: { staging }, words }, seconds) =>
    warning(
      'staging_unwritable',
      `${staging.description} did not complete a file within ${seconds} s`,
      `check that it can be reached, or choose another place with ${words.staging}`,
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
    const advice = `check its permissions, or choose another place with ${words.staging}`;
    return problem('staging_unwritable', `${staging.description} cannot be written to (${reason})`, advice);
  }
}

interface SourceSize {
  readonly bytes: number | undefined;
  /** Whether the run's tables are on the same disk. */
  readonly hasTables: boolean;
}

function findRoom(
  { deps: { staging }, words }: PreflightContext,
  { bytes }: Room,
  { bytes: sourceBytes, hasTables }: SourceSize,
): Finding | undefined {
  if (bytes === undefined || sourceBytes === undefined) return undefined;
  const least = staged.least + (hasTables ? inTables.least : 0);
  const most = staged.most + (hasTables ? inTables.most : 0);
  const has = `${staging.description} has room for ${sizeOf(bytes)}, and the source has ${sizeOf(sourceBytes)}`;
  const advice = `free some space, or choose another place with ${words.staging}`;
  if (sourceBytes * least > bytes) return problem('staging_small', has, advice);
  return sourceBytes * most > bytes ? warning('staging_small', `${has}, which may not fit`, advice) : undefined;
}

function roomText({ bytes }: Room): string {
  return bytes === undefined ? '' : ` and has room for ${sizeOf(bytes)}`;
}

export function sizeOf(bytes: number): string {
  if (bytes >= 1024 ** 3) return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  return `${Math.round(bytes / 1024 ** 2).toLocaleString('en-GB')} MiB`;
}
