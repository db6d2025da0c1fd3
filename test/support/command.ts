import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** For tests: runs the real command in a process of its own, with nothing of this process's settings. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const bin = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export interface RunOptions {
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Path of the command, when it is not this checkout's. */
  readonly program?: string;
  /** Called once the process runs, e.g. to send it a signal later. */
  readonly onStart?: (child: ChildProcess) => void;
}

export function runCommand(
  args: readonly string[],
  { input, env = {}, program = bin, onStart }: RunOptions = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: '/usr/bin:/bin', NO_COLOR: '1', ...env },
  });
  let [stdout, stderr] = ['', ''];
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
