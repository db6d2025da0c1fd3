import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../with-server.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const readyMsMax = 120_000;

/** Of the first project of a service that is proved. */
export const provedKeys = { project: 'phc_proveProjectKey0123456789', personal: 'phx_provePersonalKey0123456789' };

/** Starts a service on its own data directory in a separate process. */
export interface ProvedService {
  readonly url: string;
  readonly dataDir: string;
  readonly child: ChildProcess;
}

/** Starts the service, which need not get as far as being ready. What it says is shown. */
export async function launchService(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ProvedService> {
  const port = await freePort();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      MILLRACE_PORT: String(port),
      MILLRACE_DATA_DIR: dataDir,
      MILLRACE_BOOTSTRAP_PROJECT_API_KEY: provedKeys.project,
      MILLRACE_BOOTSTRAP_PERSONAL_API_KEY: provedKeys.personal,
      MILLRACE_API_RATE_LIMIT: 'off',
      MILLRACE_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // Whatever goes wrong here leaves no service behind.
  process.once('exit', () => child.kill('SIGKILL'));
  return { url: `http://127.0.0.1:${port}`, dataDir, child };
}

export async function untilServiceReady({ url, child }: ProvedService): Promise<void> {
  for (const deadline = Date.now() + readyMsMax; Date.now() < deadline; await delay(100)) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
  }
  throw new Error(`expected the service to be ready within ${readyMsMax / 1000} s`);
}

export async function stopService({ child }: ProvedService, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
