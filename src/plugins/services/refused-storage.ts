import type { PluginStorage } from '../host.ts';

/**
 * Replaces storage for transformations of a spread project: several slots process its events concurrently, and values read by one
 * are changed by another. Enabling such a transformation is already refused (metadata/spread-project.ts).
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
      'stores values does not work there',
  );
}
