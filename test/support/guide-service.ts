import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openCommandShell } from './command-shell.ts';
import { root } from './page-blocks.ts';
import { projectKey, startServer, tempDataDir, type TestServer } from './server.ts';
import { openTerminal } from './terminal.ts';

/** A service for those who follow a guide, and where they do that. */
export interface GuideService extends AsyncDisposable {
  readonly server: TestServer;
  /** A terminal in an empty folder, for one page. */
  open(options?: SeatOptions): Promise<Seat>;
}

export interface SeatOptions {
  /** Each command is a process, as it is for everybody else; costs half a second each. */
  readonly processes?: boolean;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Seat extends AsyncDisposable {
  readonly folder: string;
  /**
   * Types the block. What stands for the service's address and key is replaced by the test's, and so are the given texts, each of
   * which has to be in the block. Returns what it wrote to stdout; rejects when a command failed.
   */
  type(block: string, replaced?: Readonly<Record<string, string>>): Promise<string>;
}

export async function startGuideService(env: Readonly<Record<string, string>> = {}): Promise<GuideService> {
  const data = await tempDataDir();
  const folders = await tempDataDir();
  const server = await startServer(data.path, env, { readyMs: 120_000 });
  const shell = await openCommandShell({ exports: true });
  const realWords = `npx() { shift; "${process.execPath}" "${join(root, 'bin/millrace.js')}" "$@"; }\n`;
  let count = 0;
  return {
    server,
    async open({ processes = false, env: own = {} } = {}) {
      const folder = join(folders.path, String((count += 1)));
      await mkdir(folder);
      // As in a checkout, where the service keeps its data in the folder that one works in.
      await symlink(data.path, join(folder, 'data'));
      const terminal = await openTerminal({
        cwd: folder,
        env: {
          PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
          HOME: folder,
          NO_COLOR: '1',
          MILLRACE_URL: server.url,
          ...own,
        },
        words: processes ? realWords : shell.words,
      });
      return {
        folder,
        type: (block, replaced = {}) => terminal.run(replacedIn(block, replaced, server.url)),
        [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose](),
      };
    },
    async [Symbol.asyncDispose]() {
      await server.terminate();
      await shell[Symbol.asyncDispose]();
      await folders[Symbol.asyncDispose]();
      await data[Symbol.asyncDispose]();
    },
  };
}

function replacedIn(block: string, replaced: Readonly<Record<string, string>>, url: string): string {
  const all = Object.entries(replaced).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`expected ${JSON.stringify(from)} in the block, got:\n${block}`);
    return text.replaceAll(from, to);
  }, block);
  return all.replaceAll('http://127.0.0.1:8000', url).replaceAll('<project key>', projectKey);
}
