/** Shared code of the scripts that run a command with their own server. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { constants } from 'node:os';

/** What follows `--`, and the options before it. Undefined: no command, or an option that is not known. */
export function parseCommand(
  args: readonly string[],
  known: readonly string[],
): { readonly program: string; readonly args: readonly string[]; readonly options: ReadonlySet<string> } | undefined {
  const end = args.indexOf('--');
  const [program, ...programArgs] = end === -1 ? [] : args.slice(end + 1);
  const options = args.slice(0, Math.max(end, 0));
  if (program === undefined || options.some((option) => !known.includes(option))) return undefined;
  return { program, args: programArgs, options: new Set(options) };
}

/**
 * Below those that systems give to outgoing connections (Linux from 32768, macOS from 49152): none of them takes a port before the
 * server that it was found for listens.
 */
const firstPort = 20_000;
const endPort = 32_000;
const given = new Set<number>();

/** Of loopback; never the same one twice in a process. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries += 1) {
    const port = randomInt(firstPort, endPort);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`expected a free TCP port from ${firstPort} to ${endPort - 1}, found none`);
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** The command's exit code; as shells do, 128 + number when a signal ended it, 127 when it could not start. */
export async function runCommand(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  // A signal meant for this process is the command's to act on; the server is stopped once the command has ended.
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGINT', pass).on('SIGTERM', pass);
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(`expected to start ${program}, got: ${error.message}`);
      resolve(127);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
