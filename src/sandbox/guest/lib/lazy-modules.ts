/** Module → file in lazy/. Each is a bundle of its own, so that isolates that do not need it do not carry it. */
export const lazyModules: Readonly<Record<string, string>> = {
  '@posthog/plugin-contrib': 'plugin-contrib',
  'aws-sdk': 'aws',
  'generic-pool': 'generic-pool',
  events: 'events',
  faker: 'faker',
  '@faker-js/faker': 'faker',
  jsonwebtoken: 'jsonwebtoken',
  pg: 'postgres',
  stream: 'stream',
  zlib: 'zlib',
};
