import type { PluginStorage } from '../host.ts';

/**
 * What transformations of a project that is spread find in the place of storage: several slots work on its events at once, and what
 * one of them reads another has changed. To switch one on there is refused before (metadata/spread-project.ts).
 */
export const refusedStorage: PluginStorage = {
  get: refuse,
  getMany: refuse,
  set: refuse,
  delete: refuse,
  increment: refuse,
};

async function refuse(): Promise<never> {
  throw new Error(
    'storage: expected a project whose events are in one slot, got: one that is, or was, spread over several; a transformation that ' +
      'keeps values does not work there',
  );
}
