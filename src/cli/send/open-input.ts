import { createReadStream, statSync, type Stats } from 'node:fs';
import { tmpdir } from 'node:os';
import { readRecordFile, readRecords, type ReadHints } from '../../imports/records/read-records.ts';
import type { RecordChunk } from '../../imports/source.ts';
import type { CommandProcess } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';

export interface RawRecord {
  /** Its position: `line 7`, or `record 7` in formats without lines. */
  readonly place: string;
  /** One line, not validated yet. */
  readonly text: string;
  /** Why the record could not be read. */
  readonly fault?: string;
}

export interface Input {
  readonly records: AsyncIterable<readonly RawRecord[]>;
  /** Bytes of the file read up to now. */
  bytesRead(): number;
  /** Size of the source, unknown for a pipe. */
  readonly bytesTotal: number | undefined;
  /** Stops reading; a pending read fails. */
  close(): void;
}

interface InputDeps extends Pick<CommandProcess, 'stdin'> {
  readonly signal: AbortSignal;
  /** Called for a batch object with `historical_migration`, before its first record. */
  onHistory(): void;
}

/** Opens a file, or stdin for `-`, in any form that imports accept. Errors: usage. */
export function openInput(path: string, { stdin, signal, onHistory }: InputDeps): Input {
  const stat = path === '-' ? undefined : statOf(path);
  const stream = stat === undefined ? stdin : stat.isFile() ? undefined : createReadStream(path);
  let bytesRead = 0;
  let unit = 'record';
  const hints: ReadHints = {
    name: path === '-' ? 'stdin' : path,
    signal,
    tempDir: tmpdir(),
    onText: (form, head) => {
      unit = form.kind === 'lines' || form.kind === 'texts' ? 'line' : 'record';
      if (form.kind === 'values' && form.layout === 'batch' && isHistorical(head)) onHistory();
    },
  };
  async function* records(): AsyncGenerator<readonly RawRecord[]> {
    let count = 0;
    for await (const chunk of stream === undefined ? readRecordFile(path, hints) : readRecords(stream, hints)) {
      bytesRead = chunk.bytesRead;
      yield recordsOf(chunk, (index) => `${unit} ${count + index + 1}`);
      count += chunk.count;
    }
  }
  return {
    records: records(),
    bytesRead: () => bytesRead,
    bytesTotal: stat?.isFile() === true ? stat.size : undefined,
    close: () => stream?.destroy(),
  };
}

/** Returns the records of a chunk, without blank lines. */
function recordsOf({ lines, faults = [] }: RecordChunk, place: (index: number) => string): RawRecord[] {
  const records = lines
    .toString('utf8')
    .split('\n')
    .map((line, index) => ({ place: place(index), text: line.trim() }))
    .filter(({ text }) => text !== '');
  return [...records, ...faults.map((each) => ({ place: each.place, text: each.original, fault: each.reason }))];
}

/** Tells whether the part before the events marks the batch as historical. */
function isHistorical(head: Buffer): boolean {
  const before = /^[^]*?"batch"\s*:\s*\[/.exec(head.toString('utf8'))?.[0] ?? '';
  return /"historical_migration"\s*:\s*true/.test(before);
}

function statOf(path: string): Stats {
  try {
    const stat = statSync(path);
    if (stat.isDirectory())
      throw new CommandError(
        'usage',
        `expected a file, got the directory ${path}; "millrace import" reads directories`,
      );
    return stat;
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    if (reason === 'ENOENT') throw new CommandError('usage', `cannot read ${path}: the file does not exist`, { cause });
    throw new CommandError('usage', `cannot read ${path} (${reason})`, { cause });
  }
}
