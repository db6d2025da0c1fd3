import { request } from 'node:http';
import type { InjectOptions } from 'fastify';
import type { TestApp } from './app.ts';

/** One request, to be sent over a connection or given to the framework itself. */
export interface Asked {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Heard {
  readonly status: number | undefined;
  /** Without what Node itself adds on a real connection. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** On a separate connection to a port of this machine. */
export function askOverHttp(port: number, { method, path, body, headers }: Asked): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { port, host: '127.0.0.1', method, path, headers: { ...length, ...headers }, agent: false };
    const sent = request(options, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: comparable(answer.headers), text }));
    });
    sent.on('error', reject).end(body);
  });
}

/** Never answered directly: there is no connection. */
export async function askFramework({ inject }: TestApp, { method, path, body, headers }: Asked): Promise<Heard> {
  const options: InjectOptions = { method, url: path, headers: { ...headers } };
  const answer = await inject(body === undefined ? options : { ...options, payload: body });
  return { status: answer.statusCode, headers: comparable(answer.headers), text: answer.body };
}

function comparable(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest } = headers;
  return rest;
}
