import { SourceError, SourceWaitError, type ForeignFiles, type ReadingNote, type RecordChunk } from '../source.ts';
import { readAvro } from './read-avro.ts';
import { readCsv } from './read-csv.ts';
import { guardRatio, unzstdChunks, gunzipChunks } from './decompress.ts';
import { byteOrderMark, containerOf, isUsual, readingOf, textFormOf, type Container, type TextForm } from './detect.ts';
import { mendLines } from './mend-lines.ts';
import { readSequence, readValues } from './read-values.ts';
import { readLines, readStrings, readTexts } from './read-lines.ts';
import { readParquet } from './read-parquet.ts';
import { reasonToLeaveOut } from './left-out.ts';
import type { Piece, ReadHints } from './piece.ts';
import { tarMembers, zipMembers } from './archive-members.ts';
import { unbzip2Chunks } from './bzip2/unbzip2-chunks.ts';
import { unxzChunks } from './unxz-chunks.ts';
import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { TextDecoder } from 'node:util';

/**
 * Converts UTF-16 text with a byte order mark (CSV from Matomo and Excel) to UTF-8 without one.
 * @throws SourceWaitError if it is damaged or ends within a character: the transfer may have been cut off
 */
async function* utf16Chunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      decoder ??= new TextDecoder(chunk[0] === 0xfe ? 'utf-16be' : 'utf-16le', { fatal: true });
      yield Buffer.from(decoder.decode(chunk, { stream: true }));
      bytes += chunk.length;
    }
    const rest = decoder?.decode() ?? '';
    if (rest !== '') yield Buffer.from(rest);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const message = `${name} is not valid UTF-16 from byte ${bytes} on: is it truncated or damaged?`;
    throw new SourceWaitError(message, { unlimited: false, cause });
  }
}

export type { ReadHints } from './piece.ts';

const headBytes = 64 * 1024;
/** Limit of nested layers: gzip in zip, gzip in gzip. */
const layersMax = 3;
const ratioMaxDefault = 400;

/**
 * Reads the records of a file or response in any supported form: NDJSON, JSON arrays, JSON objects, batch objects, CSV, Parquet
 * or Avro, plain or in gzip, zstd, xz, bzip2, zip or tar. The form is detected by the bytes. The same bytes give the same lines,
 * however they are split into chunks.
 * @throws SourceWaitError if it is truncated or damaged, SourceError if it has another form
 */
export async function* readRecords(chunks: AsyncIterable<Buffer>, hints: ReadHints): AsyncGenerator<RecordChunk> {
  const progress = { bytes: 0 };
  yield* withBytes(readAny(watched(chunks, hints, progress), contextOf(hints, progress)), progress);
}

/**
 * Reads the records of a file on disk; archives and Parquet files are read in place.
 * @throws SourceError also if it is truncated or damaged, since a retry gives the same result; also the file system's errors
 */
export async function* readRecordFile(path: string, hints: ReadHints): AsyncGenerator<RecordChunk> {
  const progress = { bytes: 0 };
  const memory: ChunkMemory = { isReused: false };
  const chunks = watched(fileChunks(path, memory), hints, progress);
  try {
    yield* withBytes(readAny(chunks, { ...contextOf(hints, progress), path, memory }), progress);
  } catch (error) {
    if (!(error instanceof SourceWaitError) || error.unlimited) throw error;
    throw new SourceError(error.message, { advice: 'resume', cause: error });
  }
}

interface Context extends ReadHints {
  readonly ratioMax: number;
  readonly layer: number;
  /** Bytes of the source read so far, before decompression. */
  readonly progress: { bytes: number };
  /** The file that contains the bytes unchanged. */
  readonly path?: string | undefined;
  /** Memory of the chunks of that file. */
  readonly memory?: ChunkMemory | undefined;
}

function contextOf(hints: ReadHints, progress: { bytes: number }): Context {
  return { ...hints, ratioMax: hints.ratioMax ?? ratioMaxDefault, layer: 0, progress };
}

async function* withBytes(pieces: AsyncIterable<Piece>, progress: { bytes: number }): AsyncGenerator<RecordChunk> {
  for await (const { faults, ...piece } of pieces) {
    yield { ...piece, ...(faults.length === 0 ? {} : { faults }), bytesRead: progress.bytes };
  }
}

async function* watched(
  chunks: AsyncIterable<Buffer>,
  { signal, onBytes }: ReadHints,
  progress: { bytes: number },
): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    progress.bytes += chunk.length;
    onBytes?.(chunk);
    yield chunk;
  }
  signal.throwIfAborted();
}

async function* readAny(chunks: AsyncIterable<Buffer>, context: Context): AsyncGenerator<Piece> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    const head = await peek(source);
    yield* readAs(containerOf(head), head, rejoin(head, source), context);
  } finally {
    await source.return?.();
  }
}

async function* readAs(
  container: Container,
  head: Buffer,
  chunks: AsyncGenerator<Buffer>,
  context: Context,
): AsyncGenerator<Piece> {
  if (container === 'empty') return foreignIn(context)?.leftOut(context.name, 'it is empty');
  if (container === 'text') return yield* readText(head, chunks, context);
  if (container === 'parquet') return yield* onDisk(chunks, context, readParquetFile);
  if (container === 'avro') return yield* readAvro(chunks, context.name);
  const inner = { ...context, layer: context.layer + 1, path: undefined, memory: undefined };
  if (inner.layer > layersMax) {
    throw new SourceError(`expected at most ${layersMax} layers of compression in ${context.name}, got more`);
  }
  if (container === 'zip') return yield* onDisk(chunks, inner, readZipFile, context.path);
  if (container === 'tar') return yield* readTar(chunks, inner);
  yield* readAny(guarded(decompressors[container](chunks, context.name), inner), inner);
}

const decompressors = {
  gzip: gunzipChunks,
  zstd: unzstdChunks,
  bzip2: unbzip2Chunks,
  xz: unxzChunks,
  utf16: utf16Chunks,
};

function guarded(chunks: AsyncIterable<Buffer>, { progress, ...context }: Context): AsyncGenerator<Buffer> {
  return guardRatio(chunks, { ...context, sourceBytes: () => progress.bytes });
}

/** Reads a form that starts at its end: in place, or from a temporary file. */
async function* onDisk(
  chunks: AsyncGenerator<Buffer>,
  context: Context,
  read: (path: string, context: Context) => AsyncGenerator<Piece>,
  path = context.path,
): AsyncGenerator<Piece> {
  if (path !== undefined) {
    // Only the head was read; the reader counts from here.
    context.progress.bytes = 0;
    return yield* read(path, context);
  }
  const spooled = await spool(chunks, context.tempDir);
  try {
    yield* read(spooled.path, { ...context, progress: { bytes: context.progress.bytes } });
  } finally {
    await spooled.remove();
  }
}

function readParquetFile(path: string, { name, signal, progress }: Context): AsyncGenerator<Piece> {
  return readParquet(path, { name, signal, onRead: (bytes) => void (progress.bytes = bytes) });
}

async function* readZipFile(path: string, context: Context): AsyncGenerator<Piece> {
  const onRead = (bytes: number): void => void (context.progress.bytes = bytes);
  for await (const { name, chunks } of zipMembers(path, context.name, onRead)) {
    context.signal.throwIfAborted();
    yield* readAny(guarded(chunks, context), { ...context, name, isOneOfSeveral: true });
  }
}

async function* readTar(chunks: AsyncIterable<Buffer>, context: Context): AsyncGenerator<Piece> {
  for await (const member of tarMembers(chunks, context.name)) {
    context.signal.throwIfAborted();
    yield* readAny(member.chunks, { ...context, name: member.name, isOneOfSeveral: true });
  }
}

async function* readText(head: Buffer, chunks: AsyncIterable<Buffer>, context: Context): AsyncGenerator<Piece> {
  const { name, layer } = context;
  const bare = head.subarray(0, 3).equals(byteOrderMark) ? head.subarray(3) : head;
  const rest = bare === head ? chunks : skip(chunks, 3);
  // A fixed length, so that the same bytes have the same form, however they are split.
  const start = bare.subarray(0, headBytes);
  const form = textFormOf(start, name);
  context.onText?.(form, start);
  // In an archive a line number alone is ambiguous.
  const at = (what: string): string => (layer > 0 ? `${name}, ${what}` : what);
  const places = {
    name,
    line: (line: number) => at(`line ${line}`),
    record: (record: number) => at(`record ${record}`),
  };
  if (form.kind === 'lines' && context.memory !== undefined) context.memory.isReused = true;
  const read = (bytes: AsyncIterable<Buffer>): AsyncIterable<Piece> => readForm(form, bytes, places);
  const foreign = foreignIn(context);
  if (foreign !== undefined) {
    const isWhole = head.length < headBytes;
    const reason = await reasonToLeaveOut(foreign, { form, bytes: start, isWhole, read: () => read(only(start)) });
    if (reason !== undefined) {
      foreign.leftOut(name, reason.reason, reason.records);
      // The next member of an archive begins after it.
      for await (const _chunk of rest) continue;
      return;
    }
  }
  yield* named(read(rest), readingOf(form), isUsual(form));
}

interface Places {
  readonly name: string;
  readonly line: (line: number) => string;
  readonly record: (record: number) => string;
}

function readForm(form: TextForm, bytes: AsyncIterable<Buffer>, { name, line, record }: Places): AsyncIterable<Piece> {
  switch (form.kind) {
    case 'unknown':
      throw new SourceError(`${name} cannot be read: ${form.reason}`);
    case 'lines':
      if (form.dress === 'strings') return readStrings(bytes, line);
      return mendLines(readLines(bytes, line), { commas: form.dress === 'commas' });
    case 'texts':
      return readTexts(bytes, line);
    case 'csv':
      return readCsv(bytes, { dialect: form, place: line });
    case 'sequence':
      return readSequence(bytes, record);
    case 'values':
      return readValues(bytes, form.layout, { name, place: record, list: form.list });
  }
}

/** Attaches the form to the first piece; `isQuiet`: the run does not report it. */
async function* named(
  pieces: AsyncIterable<Piece>,
  readAs: string | undefined,
  isQuiet: boolean,
): AsyncGenerator<Piece> {
  const notes: readonly ReadingNote[] = isQuiet ? [] : [{ of: 'read_as', count: 1, sample: readAs ?? '' }];
  let isFirst = readAs !== undefined;
  for await (const piece of pieces) {
    yield isFirst && readAs !== undefined ? { ...piece, readAs, ...(notes.length > 0 && { notes }) } : piece;
    isFirst = false;
  }
}

function foreignIn({ foreign, isOneOfSeveral = false }: Context): ForeignFiles | undefined {
  return isOneOfSeveral ? foreign : undefined;
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

async function peek(source: AsyncIterator<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let size = 0; size < headBytes;) {
    const { value, done } = await source.next();
    if (done === true) break;
    parts.push(value);
    size += value.length;
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

async function* rejoin(head: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}

async function* skip(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of chunks) {
    yield chunk.subarray(left);
    left = 0;
  }
}

/** A temporary file with the contents of a stream; `remove` deletes it. */
interface Spooled {
  readonly path: string;
  remove(): Promise<void>;
}

async function spool(chunks: AsyncIterable<Buffer>, dir: string): Promise<Spooled> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, `${randomUUID()}.spool`);
  const remove = (): Promise<void> => rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await file.appendFile(chunk);
  } catch (error) {
    await file.close();
    await remove();
    throw error;
  }
  await file.close();
  return { path, remove };
}

/** Whether the memory of a chunk may be reused once the next one is requested; may change while the file is read. */
interface ChunkMemory {
  isReused: boolean;
}

const chunkBytes = 1024 * 1024;

/**
 * Reads a file sequentially, one chunk ahead. A few hundred megabytes of chunks left to the garbage collector cause dozens of
 * full collections: a consumer that needs a chunk only until it requests the next one sets `isReused`, and then two buffers are
 * enough. Throws the file system's errors.
 */
export async function* fileChunks(path: string, memory: ChunkMemory): AsyncGenerator<Buffer> {
  const file = await open(path);
  let reading: Promise<Buffer> | undefined;
  try {
    let free: Buffer | undefined;
    reading = readChunk(file, newChunk());
    for (;;) {
      const chunk = await reading;
      if (chunk.length === 0) return;
      reading = readChunk(file, free ?? newChunk());
      // The next await receives the error.
      reading.catch(() => undefined);
      yield chunk;
      free = memory.isReused ? Buffer.from(chunk.buffer) : undefined;
    }
  } finally {
    await reading?.catch(() => undefined);
    await file.close();
  }
}

function newChunk(): Buffer {
  return Buffer.allocUnsafeSlow(chunkBytes);
}

/** Returns an empty buffer at the end of the file. */
async function readChunk(file: FileHandle, into: Buffer): Promise<Buffer> {
  const { bytesRead } = await file.read(into, 0, into.length);
  return into.subarray(0, bytesRead);
}
