import type { Family } from './plugins.ts';

/** Pages of configs below a project in the console. */
export const familyPages = {
  'import-app': 'imports',
  transformation: 'transformations',
} as const satisfies Record<Family, string>;
