/** Made on their first `require`, each as a bundle of its own, so that isolates that do not need them do not carry them. */
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
