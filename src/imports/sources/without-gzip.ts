import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

const layersMax = 3;

/** Removes layers of gzip, which some services and proxies apply twice. Also throws the errors of zlib. */
export async function* withoutGzip(body: AsyncIterable<Buffer>, layer = 0): AsyncGenerator<Buffer> {
  const source = body[Symbol.asyncIterator]();
  const head = await readHead(source);
  const whole = joined(head, source);
  if (head[0] !== 0x1f || head[1] !== 0x8b || layer === layersMax) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip();
  // Reading from `gunzip` ends with the same error.
  pipeline(Readable.from(whole), gunzip, () => undefined);
  yield* withoutGzip(gunzip, layer + 1);
}

async function readHead(source: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await source.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

async function* joined(head: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
  } finally {
    await source.return?.();
  }
}
