/** Modules built on their first `require` as separate bundles, so that other isolates do not contain them. */
export const lazyModules = [
  '@posthog/plugin-contrib',
  'aws-sdk',
  'events',
  'faker',
  '@faker-js/faker',
  'generic-pool',
  'jsonwebtoken',
  'pg',
  'stream',
  'zlib',
] as const;

export type LazyModule = (typeof lazyModules)[number];

export function isLazyModule(name: string): name is LazyModule {
  return lazyModules.some((each) => each === name);
}
