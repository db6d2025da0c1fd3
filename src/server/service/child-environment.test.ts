import { afterEach, expect, it, vi } from 'vitest';
import { settingDefinitions } from '../config/settings.ts';
import { startProcess } from './hosted-worker.ts';

afterEach(() => vi.unstubAllEnvs());

async function environmentOfChild(): Promise<Readonly<Record<string, string | undefined>>> {
  const limits = { memoryBytesMax: 512 * 1024 ** 2, memoryLimit: 'test' };
  const child = startProcess(new URL('./child-environment.fixture.ts', import.meta.url), {}, limits);
  const environment = await new Promise<Record<string, string | undefined>>((resolve, reject) => {
    child.onMessage((message) => resolve(message as Record<string, string | undefined>));
    void child.ended.then((how) => reject(new Error(how)));
  });
  child.kill('the test is done');
  await child.ended;
  return environment;
}

it('a child process has no setting of the service in its environment and no secret that it does not need', async () => {
  const settings = Object.values(settingDefinitions).map(({ env }) => env);
  const secrets = [
    'SEGMENT_WRITE_KEY',
    'MY_PASSWORD',
    'AZURE_STORAGE_KEY',
    'KAFKA_PASSWORD',
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  ];
  const absent = [...settings, ...settings.map((name) => `${name}_FILE`), ...secrets];
  const needed = [
    'AWS_SECRET_ACCESS_KEY',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'https_proxy',
    'NODE_EXTRA_CA_CERTS',
    'PGPASSWORD',
  ];
  for (const name of [...absent, ...needed]) vi.stubEnv(name, 's3cr€t');
  const environment = await environmentOfChild();
  expect(settings).toContain('DATABASE_URL');
  expect(absent.filter((name) => name in environment)).toEqual([]);
  expect(needed.filter((name) => environment[name] !== 's3cr€t')).toEqual([]);
  expect(environment['PATH']).toBe(process.env['PATH']);
});
