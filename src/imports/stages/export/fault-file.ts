import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import type { SourceFault } from '../../source.ts';
import { stagingKeys, type RejectedRecord, type Staging } from '../../staging.ts';

const compress = promisify(zstdCompress);
const faultsPerFile = 2000;
const bytesPerFile = 4 * 1024 * 1024;

/** Pieces of one part that are no records, put aside in files of rejected records as they come. */
export interface FaultFile {
  /** `linesBefore`: of the part, before the chunk that they came with. */
  add(faults: readonly SourceFault[], linesBefore: number): Promise<void>;
  /** Writes what is left, and removes what an earlier attempt wrote beyond. */
  finish(): Promise<void>;
  /** Those that come on top of the lines: a fault that a line holds the place of is counted as that line. */
  count(): number;
}

/** Numbered by the order of the faults, so that a part that is read again from its beginning replaces them. */
export function createFaultFile(staging: Staging, runId: string, part: { seq: number; key: string }): FaultFile {
  const origin = `export-${String(part.seq).padStart(6, '0')}-`;
  let lines: string[] = [];
  let bytes = 0;
  let files = 0;
  let count = 0;
  const key = (file: number): string => stagingKeys.rejected(runId, `${origin}${String(file).padStart(6, '0')}`);
  const write = async (): Promise<void> => {
    if (lines.length === 0) return;
    await staging.write(key(files), [await compress(lines.join(''))]);
    files += 1;
    lines = [];
    bytes = 0;
  };
  return {
    async add(faults, linesBefore) {
      for (const fault of faults) {
        const line = `${JSON.stringify(rejectedOf(fault, part.key, linesBefore))}\n`;
        lines.push(line);
        bytes += line.length;
        if (fault.heldAt === undefined) count += 1;
        if (lines.length >= faultsPerFile || bytes >= bytesPerFile) await write();
      }
    },
    async finish() {
      await write();
      const prefix = `${runId}/rejected/${origin}`;
      for (const { key: found } of await staging.list(prefix)) if (found >= key(files)) await staging.remove(found);
    },
    count: () => count,
  };
}

function rejectedOf(
  { place, line = 0, heldAt, reason, original }: SourceFault,
  part: string,
  linesBefore: number,
): RejectedRecord {
  const where = heldAt === undefined ? { line, place } : { line: linesBefore + heldAt + 1, place, held: true as const };
  return { part, ...where, stage: 'export', code: 'not_a_record', reason, original };
}
