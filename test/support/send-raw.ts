import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { HostileRequest } from './hostile-requests.ts';

const piecesAtOnce = 64 * 1024;
const answerMs = 60_000;

/** The status of the answer; undefined: the connection ended without one. Nothing checks or changes the request on its way. */
export async function sendRaw(port: number, request: HostileRequest): Promise<number | undefined> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  const answered = new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1');
      if (answer.includes('\r\n\r\n')) resolve();
    });
  });
  socket.setTimeout(answerMs, () => socket.destroy());
  // A service that refuses early closes while the rest is still being sent: what counts is the answer.
  const sent = pipeline(Readable.from(wireOf(request)), socket, { end: false }).catch(() => undefined);
  await answered;
  // What is under way belongs to this request.
  await sent;
  socket.destroy();
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
  return status === undefined ? undefined : Number(status);
}

function* wireOf({ method = 'POST', path, headers = {}, body, chunkBytes }: HostileRequest): Generator<Buffer> {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}`);
  if (body !== undefined) {
    lines.push(chunkBytes === undefined ? `content-length: ${body.length}` : 'transfer-encoding: chunked');
  }
  yield Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  if (body === undefined) return;
  const wire = chunkBytes === undefined ? body : chunked(body, chunkBytes);
  for (let at = 0; at < wire.length; at += piecesAtOnce) yield wire.subarray(at, at + piecesAtOnce);
}

function chunked(body: Buffer, bytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += bytes) {
    const chunk = body.subarray(at, at + bytes);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
