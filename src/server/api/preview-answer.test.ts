import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startTestApp } from '../../../test/support/app.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { importPreviewRoutes } from './import-preview.ts';
import type { ImportRouteDeps } from './import-runs-deps.ts';

// Real: HTTP server, sockets, metadata in SQLite. Doubled: the preview itself, which never ends.
it('a source preview ends when its client disconnects', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const preview = (_order: object, signal: AbortSignal): Promise<never> => {
    asked.resolve(signal);
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const app = await startTestApp((db, { clock }) =>
    importPreviewRoutes({ db, clock, registry: builtInRegistry, imports: { preview } } as unknown as ImportRouteDeps),
  );
  onTestFinished(() => app[Symbol.asyncDispose]());
  await syncPlugins(app.db, builtInRegistry.list(), app.clock.now());
  const { id } = await app.db.selectFrom('plugins').select('id').where('slug', '=', 'urls').executeTakeFirstOrThrow();
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const body = JSON.stringify({ plugin: id, settings: { urls: 'https://files.example/a.jsonl', format: 'amplitude' } });
  const head = [
    'POST /api/projects/@current/import_preview/ HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${await app.key()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  const client = connect((app.app.server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const signal = await asked.promise;
  expect(signal.aborted).toBe(false);
  client.destroy();
  if (!signal.aborted) await once(signal, 'abort');
  expect(signal.reason).toMatchObject({ status: 400 });
});
