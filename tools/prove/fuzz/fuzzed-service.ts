import { readOperations } from './operations.ts';
import type { World } from './request.ts';
import { startService, type Service } from '../../compat/service.ts';

/** Small limits, so that small bodies reach them; no request waits longer than two seconds for a body. */
const limits = {
  MILLRACE_CAPTURE_BODY_BYTES_MAX: '262144',
  MILLRACE_CAPTURE_INFLATED_BYTES_MAX: '2097152',
  MILLRACE_CAPTURE_EVENT_BYTES_MAX: '100000',
  MILLRACE_CAPTURE_BODY_TIMEOUT_MS: '2000',
  // What is generated reaches no other machine.
  MILLRACE_NPM_REGISTRY: 'http://127.0.0.1:1/',
};

export interface FuzzedService extends AsyncDisposable {
  readonly service: Service;
  readonly port: number;
  readonly world: World;
  readonly witnessId: number;
}

interface Row {
  readonly id: number;
  readonly api_token: string;
}

/** The real program with three projects, and something of every kind in that which calls are about. */
export async function startFuzzedService(directory: string): Promise<FuzzedService> {
  const service = await startService(directory, limits);
  const projects = await Promise.all(
    ['target', 'playground'].map((name) => service.api<Row>('POST', '/api/projects/', { name })),
  );
  const [target, playground] = projects.map(({ body }) => body);
  const witness = (await service.api<Row>('GET', '/api/projects/@current/')).body;
  if (target === undefined || playground === undefined) throw new Error('expected two projects');
  const plugins = await service.api<{ results: readonly Row[] }>(
    'GET',
    `/api/projects/${playground.id}/plugins/?limit=1000`,
  );
  const { host, port } = new URL(service.url);
  return {
    service,
    port: Number(port),
    witnessId: witness.id,
    world: {
      host,
      key: service.key,
      witnessToken: witness.api_token,
      targetToken: target.api_token,
      targetId: target.id,
      playgroundId: playground.id,
      pluginIds: plugins.body.results.map(({ id }) => id),
      operations: readOperations(),
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
