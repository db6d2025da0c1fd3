import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { CommandProcess } from '../../src/cli/terminal.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';

export interface Finished {
  /** Null: killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command at work. */
export interface Running {
  /** As Ctrl-C does. */
  interrupt(): void;
}

export interface RunOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Called before the command begins, e.g. to interrupt it later. */
  readonly onStart?: (command: Running) => void;
}

/** What a preflight asks may take longer than a person would wait: the machine is busy. */
const usualEnv = { NO_COLOR: '1', MILLRACE_IMPORT_PREFLIGHT_MS: '60000' };

/** For tests: runs a command in the test's process, with nothing of this process's settings. A start costs no process. */
export function runCommand(args: readonly string[], { input, env = {}, onStart }: RunOptions = {}): Promise<Finished> {
  const stdout = collect();
  const stderr = collect();
  const signals = new EventEmitter();
  return new Promise((resolve, reject) => {
    const end = (code: number): void => resolve({ code, stdout: stdout.text(), stderr: stderr.text() });
    const process: CommandProcess = {
      env: { ...usualEnv, ...env },
      stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
      stdout: stdout.stream,
      stderr: stderr.stream,
      on: (signal, listener) => signals.on(signal, listener),
      off: (signal, listener) => signals.off(signal, listener),
      exit: end,
    };
    onStart?.({ interrupt: () => signals.emit('SIGINT', 'SIGINT') });
    runCommandLine(args, process).then(end, reject);
  });
}

function collect(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

const bin = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export interface SpawnOptions extends Omit<RunOptions, 'onStart'> {
  /** Path of the command, when it is not this checkout's. */
  readonly program?: string;
  /** Called once the process runs, e.g. to send it a signal later. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** For tests of what only a process has: exit codes in a shell, signals, kill -9, pipes. Starts the real command. */
export function spawnCommand(
  args: readonly string[],
  { input, env = {}, program = bin, onStart }: SpawnOptions = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: '/usr/bin:/bin', ...usualEnv, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // The process may end before it has read all of its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  onStart?.(child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
