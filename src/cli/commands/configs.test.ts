import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { runCommand } from '../../../test/support/command.ts';
import { startConfigsApp } from '../../../test/support/configs-app.ts';

it('an enabled config that lacks a required setting is stored, and the command names the setting', async () => {
  await using configs = await startConfigsApp();
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  const id = String(await configs.create('transformation'));
  const access = ['--url', `http://127.0.0.1:${port}`, '--api-key', await configs.app.key()];
  const run = (...words: string[]) => runCommand(['configs', ...words, id, '--family', 'transformations', ...access]);

  const { code, stderr } = await run('enable');
  expect([code, stderr]).toEqual([
    0,
    `warning: config ${id} is enabled but does not work: missing required setting "bucket"; see "millrace configs show ${id}"\n`,
  ]);
  expect((await run('update', '--settings', '{"bucket":"b"}')).stderr).toBe('');
});
