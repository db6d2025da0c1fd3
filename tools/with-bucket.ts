/**
 * Runs a command with its own S3 server: `node tools/with-bucket.ts [--optional] -- command …`.
 *
 * versitygw on loopback, with its objects in a temp directory; gone afterwards. The command finds it through BUCKET_ENDPOINT,
 * BUCKET_NAME, BUCKET_ACCESS_KEY_ID and BUCKET_SECRET_ACCESS_KEY. The program is built by `go install` the first time, which takes
 * some minutes, and is kept in the user's cache directory. Exits with the command's code, or 2 when there is no server; with
 * --optional the command then runs without those variables.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, parseCommand, runCommand } from './with-server.ts';

const usage = 'usage: node tools/with-bucket.ts [--optional] -- command [argument …]';
const version = 'v1.8.0';
const buildMs = 900_000;
const startMs = 15_000;
const bucket = 'millrace';
const keys = { accessKeyId: 'millrace', secretAccessKey: 'millrace-secret' };

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, ['--optional']);
  if (command === undefined) {
    console.error(usage);
    return 2;
  }
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bucket-'));
  try {
    const built = findProgram(command.options.has('--optional'));
    if (built.program === undefined) {
      console.error(`no S3 server: ${built.reason}`);
      return command.options.has('--optional') ? await runCommand(command.program, command.args, {}) : 2;
    }
    return await withServer(built.program, directory, (env) => runCommand(command.program, command.args, env));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

type Found = { readonly program: string } | { readonly program?: undefined; readonly reason: string };

/** @param keptOnly one that was built before, because building takes longer than what is to be run */
function findProgram(keptOnly: boolean): Found {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace', `versitygw-${version}`);
  const program = join(cache, 'versitygw');
  if (existsSync(program)) return { program };
  if (keptOnly) return { reason: `expected ${program}, which this script builds without --optional, found none` };
  try {
    const env = { ...process.env, GOBIN: cache };
    const source = `github.com/versity/versitygw/cmd/versitygw@${version}`;
    console.error(`building the S3 server versitygw ${version} with Go: some minutes, once`);
    execFileSync('go', ['install', source], { env, stdio: ['ignore', 2, 2], timeout: buildMs });
    return { program };
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { reason: `expected the Go toolchain in PATH, to build versitygw ${version}, got: ${reason}` };
  }
}

async function withServer(
  program: string,
  directory: string,
  work: (env: Readonly<Record<string, string>>) => Promise<number>,
): Promise<number> {
  const port = await freePort();
  const objects = join(directory, 'objects');
  // A folder is a bucket; metadata of an object that the file system cannot store is in a file next to it.
  await mkdir(join(objects, bucket), { recursive: true });
  await mkdir(join(directory, 'notes'));
  const server = spawn(
    program,
    ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(directory, 'notes'), objects],
    {
      env: { PATH: process.env.PATH, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey },
      stdio: ['ignore', 'ignore', 2],
    },
  );
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await untilStarted(server, endpoint);
    return await work({
      BUCKET_ENDPOINT: endpoint,
      BUCKET_NAME: bucket,
      BUCKET_ACCESS_KEY_ID: keys.accessKeyId,
      BUCKET_SECRET_ACCESS_KEY: keys.secretAccessKey,
    });
  } finally {
    if (server.exitCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  }
}

/** It answers, be it that the request is not signed. */
async function untilStarted(server: ChildProcess, endpoint: string): Promise<void> {
  for (const deadline = Date.now() + startMs; Date.now() < deadline && server.exitCode === null; await sleep(50)) {
    const answer = await fetch(endpoint).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer !== undefined) return;
  }
  throw new Error(`expected versitygw to answer within ${startMs} ms, got none; look at what it says above`);
}
