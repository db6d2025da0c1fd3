import type { Family } from './plugins.ts';

/** Console pages for plugin configs of a project. */
export const familyPages = {
  'import-app': 'imports',
  transformation: 'transformations',
} as const satisfies Record<Family, string>;
