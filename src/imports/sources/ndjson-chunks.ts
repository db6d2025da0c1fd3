import { countLines } from '../../base/count-lines.ts';
import { objectIn } from '../../base/json.ts';
import { SourceWaitError, type RecordChunk } from '../source.ts';
import { withoutGzip } from './without-gzip.ts';
import { brokenError } from './export-api.ts';

const lineBytesMax = 64 * 1024 * 1024;
const newline = 0x0a;

/**
 * Yields the lines of an NDJSON response unchanged. Removes gzip inside the content, even twice. A response that ends within a
 * record, or with something else, was cut off and throws SourceWaitError.
 */
export async function* ndjsonChunks(
  body: AsyncIterable<Buffer>,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<RecordChunk> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let bytesRead = 0;
  let lastLine: Buffer = Buffer.alloc(0);
  for await (const chunk of typedErrors(withoutGzip(body), name, signal)) {
    bytesRead += chunk.length;
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      const lines = Buffer.concat([...pending, chunk.subarray(0, end)]);
      lastLine = lastLineOf(lines) ?? lastLine;
      yield { lines, count: countLines(lines), bytesRead };
      pending = [];
      pendingBytes = 0;
    }
    pending.push(chunk.subarray(end));
    pendingBytes += chunk.length - end;
    if (pendingBytes > lineBytesMax) throw cutOff(name, `a record of more than ${lineBytesMax} bytes`);
  }
  const rest = Buffer.concat(pending);
  if (rest.toString('utf8').trim() === '') {
    if (lastLine.length > 0 && !looksLikeRecord(lastLine)) throw cutOff(name, describe(lastLine));
    if (rest.length > 0) yield { lines: withNewline(rest), count: 1, bytesRead };
    return;
  }
  if (objectIn(rest.toString('utf8')) === undefined) throw cutOff(name, describe(rest));
  yield { lines: withNewline(rest), count: 1, bytesRead };
}

function cutOff(name: string, came: string): SourceWaitError {
  return new SourceWaitError(`${name}: expected a response that ends with a whole record, got ${came}`, {
    unlimited: false,
  });
}

/** Only the length: the end of a record contains personal data. */
function describe(line: Buffer): string {
  return `${line.length} bytes of something else at its end`;
}

function withNewline(rest: Buffer): Buffer {
  return Buffer.concat([rest, Buffer.from('\n')]);
}

/** Returns the last line that is not blank, without copying. */
function lastLineOf(lines: Buffer): Buffer | undefined {
  let end = lines.length;
  while (end > 0 && (lines[end - 1] ?? 0) <= 0x20) end -= 1;
  return end === 0 ? undefined : lines.subarray(lines.lastIndexOf(newline, end - 1) + 1, end);
}

function looksLikeRecord(line: Buffer): boolean {
  return line.toString('latin1').trimStart().startsWith('{') && line.at(-1) === 0x7d;
}

async function* typedErrors(body: AsyncIterable<Buffer>, name: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw brokenError(error, name, signal);
  }
}
