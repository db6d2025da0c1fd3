/** Published transformations without a built-in counterpart, and what to use instead; for the docs and users who migrate. */
export const notBuiltIn: readonly { readonly name: string; readonly reason: string }[] = [
  {
    name: 'Netdata event processing',
    reason: 'Written for one site: it parses the properties of that site. The published plugin runs in the sandbox.',
  },
  { name: 'Hello World', reason: 'A sample for authors. The published plugin runs in the sandbox.' },
  { name: 'Secure Events', reason: 'A template for tests that has no effect.' },
  {
    name: 'Device marketing names',
    reason: 'Its table of device names changes constantly. "Remap property values" accepts a custom table.',
  },
  {
    name: 'Meta Ads click IDs',
    reason: 'Only useful for one destination, which this program does not have.',
  },
  {
    name: 'Typesafe',
    reason: 'A demonstration that classifies events with a language model. A custom plugin can call one with fetch.',
  },
];
