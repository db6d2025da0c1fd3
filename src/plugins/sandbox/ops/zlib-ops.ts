import * as zlib from 'node:zlib';
import { dataArgument, dataMax, recordArgument } from './arguments.ts';
import type { SyncOps } from './ops.ts';

type Work = (data: Buffer, options: zlib.ZlibOptions) => Buffer;

const works: Readonly<Record<string, Work>> = {
  gzip: (data, options) => zlib.gzipSync(data, options),
  gunzip: (data, options) => zlib.gunzipSync(data, options),
  unzip: (data, options) => zlib.unzipSync(data, options),
  deflate: (data, options) => zlib.deflateSync(data, options),
  inflate: (data, options) => zlib.inflateSync(data, options),
  deflateRaw: (data, options) => zlib.deflateRawSync(data, options),
  inflateRaw: (data, options) => zlib.inflateRawSync(data, options),
  // With its default quality brotli takes seconds for a megabyte.
  brotliCompress: (data, { maxOutputLength }) =>
    zlib.brotliCompressSync(data, {
      ...bounded(maxOutputLength),
      params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 },
    }),
  brotliDecompress: (data, { maxOutputLength }) => zlib.brotliDecompressSync(data, bounded(maxOutputLength)),
};

function bounded(maxOutputLength: number | undefined): { maxOutputLength: number } {
  return { maxOutputLength: maxOutputLength ?? dataMax };
}

/** Results are base64. */
export const zlibOps: SyncOps = Object.fromEntries(
  Object.entries(works).map(([name, work]) => [
    `zlib.${name}`,
    ([data, options]: readonly unknown[]) => run(name, work, data, options),
  ]),
);

function run(name: string, work: Work, data: unknown, options: unknown): string {
  const bytes = dataArgument(data, 'the data');
  try {
    return work(bytes, { ...levelOf(options), maxOutputLength: dataMax }).toString('base64');
  } catch (error) {
    if (error instanceof RangeError) {
      throw new RangeError(`${name}: expected at most ${dataMax} bytes as result, got more`, { cause: error });
    }
    throw error;
  }
}

function levelOf(options: unknown): { level?: number } {
  if (options === null || options === undefined) return {};
  const { level } = recordArgument(options, 'the options');
  return typeof level === 'number' && Number.isInteger(level) && level >= -1 && level <= 9 ? { level } : {};
}
