import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = (name: string): string => fileURLToPath(new URL(`../../tools/${name}.ts`, import.meta.url));
/** Says what the servers are found by, then lasts as long as its input. */
const tellAndWait = `console.log(JSON.stringify(process.env)); process.stdin.resume()`;

/**
 * Starts the servers that services tests ask for, those that can be had, when MILLRACE_TEST_SERVERS is set, as continuous
 * integration does. Vitest calls it before the first services test, and what it returns after the last.
 */
export default async function startServers(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['MILLRACE_TEST_SERVERS'] === undefined) return undefined;
  const node = process.execPath;
  const servers = ['with-kafka', 'with-clickhouse', 'with-postgres'].flatMap((name) => [
    node,
    script(name),
    '--optional',
    '--',
  ]);
  const [program = node, ...args] = [...servers, node, '--eval', tellAndWait];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  Object.assign(process.env, await toldBy(child));
  return async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  };
}

async function toldBy(child: ChildProcess): Promise<NodeJS.ProcessEnv> {
  if (child.stdout === null) throw new Error('expected to read what the servers are found by');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{')) return JSON.parse(line) as NodeJS.ProcessEnv;
  }
  throw new Error('expected the servers of services tests to start; what they said is above');
}
