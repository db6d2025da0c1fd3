import { bytesOfBase64 } from '../base64.ts';
import { callLater, isCallback } from '../call-later.ts';
import type { LazyDeps } from '../modules.ts';
import { toPayload } from '../wire.ts';

const names = [
  'gzip',
  'gunzip',
  'unzip',
  'deflate',
  'inflate',
  'deflateRaw',
  'inflateRaw',
  'brotliCompress',
  'brotliDecompress',
];

/** Node's zlib for whole data: `gzipSync(data)` and `gzip(data, callback)`. */
export const create = ({ bridge, Buffer }: LazyDeps): unknown => {
  const run = (name: string, data: unknown, options: unknown): unknown => {
    const level: unknown = typeof options === 'object' && options !== null ? Reflect.get(options, 'level') : undefined;
    const answer = bridge.callSync(`zlib.${name}`, [toPayload(dataOf(data)), level === undefined ? null : { level }]);
    return Buffer.from(bytesOfBase64(String(answer)).buffer);
  };
  const forms = names.map((name): [string, unknown][] => [
    [`${name}Sync`, (data: unknown, options?: unknown) => run(name, data, options)],
    [name, (data: unknown, ...rest: unknown[]) => later(rest.at(-1), () => run(name, data, rest[0]))],
  ]);
  return Object.fromEntries(forms.flat());
};

function dataOf(data: unknown): string | Uint8Array {
  if (typeof data === 'string') return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError(
    `zlib: expected text, a Buffer or another view of bytes, got ${data === null ? 'null' : typeof data}`,
  );
}

function later(callback: unknown, work: () => unknown): void {
  if (!isCallback(callback)) throw new TypeError('zlib: expected a callback as last argument');
  void callLater(callback, work);
}
