import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasProc, previewPids, startedWith } from '../../../test/support/processes.ts';
import { runOptions } from '../../../test/support/runs.ts';
import type { PreviewOrder } from '../api/import-runs-deps.ts';
import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { urls } from '../../imports/sources/urls.ts';
import { previewInProcess } from './http.ts';

// Real: the process, HTTP, SQLite. The source is a web server that never ends its answer.
let dir: string;
let server: Server;
let order: PreviewOrder;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-preview-test-'));
  await mkdir(join(dir, 'temp'));
  server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    if (request.method === 'HEAD') return void response.end();
    response.write('{"event":"a"');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.jsonl`;
  order = {
    projectId: 1,
    source: urls,
    settings: { urls: address },
    options: { ...runOptions, format: 'amplitude' },
    records: 5,
    plan: undefined,
    keepsOut: false,
  };
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(dir, { recursive: true, force: true });
});

afterEach(() => vi.unstubAllEnvs());

function settingsWith(env: Readonly<Record<string, string>>): Settings {
  return loadSettings({ env: { MILLRACE_DATA_DIR: dir, MILLRACE_OUTBOUND_ALLOW: '127.0.0.1', ...env } }).settings;
}

describe('a source preview', () => {
  const never = new AbortController().signal;

  it.each([
    ['never ends', {}],
    ['blocks its event loop', { MILLRACE_FAIL_AT: 'import_preview:1:loop', MILLRACE_ALLOW_FAILPOINTS: 'true' }],
  ])('that %s is killed at its time limit, and the answer names the limit and the source', async (_how, env) => {
    vi.stubEnv('TMPDIR', join(dir, 'temp'));
    const preview = previewInProcess({ settings: settingsWith(env), timeMsMax: 700 });
    const reason =
      'The preview of Web addresses was stopped: it took longer than 0.7 s; a run has more of both: start one with a limit, or give smaller files.';
    expect(await preview(order, never)).toEqual({ kind: 'refused', reason });
    expect(await readdir(join(dir, 'temp'))).toEqual([]);
  });

  it('that is cancelled is killed immediately, with everything that it holds', async () => {
    const stop = new AbortController();
    const previewed = previewInProcess({ settings: settingsWith({}) })(order, stop.signal);
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    const closed = once(request.socket, 'close');
    stop.abort(new Error('the service stops'));
    await expect(previewed).rejects.toThrow('the service stops');
    await closed;
  });

  it('that crashes is refused with the reason, and affects nothing else', async () => {
    const env = { MILLRACE_FAIL_AT: 'import_preview', MILLRACE_ALLOW_FAILPOINTS: 'true' };
    const answer = await previewInProcess({ settings: settingsWith(env) })(order, never);
    expect(answer).toMatchObject({ kind: 'refused', reason: expect.stringContaining('it ended with SIGKILL') });
  });

  it.skipIf(!hasProc)('has no secrets of settings or configs in its environment or arguments', async () => {
    vi.stubEnv('MILLRACE_DATABASE_URL', 'postgres://a:secret-of-settings@b/c');
    const stop = new AbortController();
    const settings = { ...order.settings, headers: 'Authorization: Bearer secret-of-config' };
    const previewed = previewInProcess({ settings: settingsWith({}) })({ ...order, settings }, stop.signal);
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    expect(request.headers.authorization).toBe('Bearer secret-of-config');
    const [pid = 0] = previewPids({ child: process });
    const shown = startedWith(pid);
    stop.abort(new Error('seen'));
    await expect(previewed).rejects.toThrow('seen');
    expect(shown).toContain('import-preview-process');
    expect(shown).not.toContain('secret-of');
  });
});
