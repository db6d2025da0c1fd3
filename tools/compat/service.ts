import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../with-server.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

/** Starts the real program on its own data directory. */
export interface Service extends AsyncDisposable {
  readonly url: string;
  /** A personal API key of everything. */
  readonly key: string;
  readonly child: ChildProcess;
  /** GET, POST, PATCH, DELETE of the management API; `body` as JSON, or as a form. Throws on anything but 2xx. */
  api<T>(method: string, path: string, body?: object | FormData): Promise<Answered<T>>;
}

export interface Answered<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** @param file of the program, where it is not this one */
export async function startService(
  directory: string,
  env: Readonly<Record<string, string>>,
  file = program,
): Promise<Service> {
  const port = await freePort();
  const key = env['MILLRACE_BOOTSTRAP_PERSONAL_API_KEY'] ?? `phx_${randomUUID().replaceAll('-', '')}`;
  const child = spawn(process.execPath, [file, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: join(directory, 'data'),
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: key,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = createWriteStream(join(directory, 'service.log'));
  child.stdout.pipe(output, { end: false });
  child.stderr.pipe(output, { end: false });
  const url = `http://127.0.0.1:${port}`;
  while ((await statusOf(`${url}/readyz`)) !== 200) {
    if (child.exitCode !== null) throw new Error(`expected the service to start, it ended with ${child.exitCode}`);
    await delay(50);
  }
  return {
    url,
    key,
    child,
    api: (method, path, body) => call(url + path, method, key, body),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await ended;
      }
      output.end();
    },
  };
}

async function call<T>(url: string, method: string, key: string, body?: object | FormData): Promise<Answered<T>> {
  const isForm = body instanceof FormData;
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${detailOf(text)}`);
  return { body: (text === '' ? undefined : JSON.parse(text)) as T, headers: answer.headers };
}

/** The sentence of an error of the API. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === 'string' ? detail : text;
  } catch {
    return text;
  }
}

async function statusOf(url: string): Promise<number> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status ?? 0;
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
