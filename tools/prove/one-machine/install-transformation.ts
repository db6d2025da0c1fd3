import { setTimeout as sleep } from 'node:timers/promises';
import type { ProofService } from './service.ts';

const project = '/api/projects/@current';
const configs = `${project}/pipeline_transformation_configs/`;
/** Until the pipeline has seen it. */
const seenMs = 2500;

/** Code of a plugin as the only transformation of the project; returns when events go through it. */
export async function installTransformation(service: ProofService, code: string): Promise<void> {
  const files = { 'plugin.json': JSON.stringify({ name: 'proof' }), 'index.js': code };
  const plugin = await service.call<{ id: number }>('POST', `${project}/plugins/`, { files });
  const config = await service.call<{ id: number }>('POST', configs, { plugin: plugin.id });
  await service.call('PATCH', `${configs}${config.id}/`, { enabled: true });
  await sleep(seenMs);
}
