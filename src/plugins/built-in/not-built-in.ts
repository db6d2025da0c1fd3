/** Published transformations that no built-in stands for, and what to do instead; for docs and whoever comes from there. */
export const notBuiltIn: readonly { readonly name: string; readonly reason: string }[] = [
  {
    name: 'Netdata event processing',
    reason: 'Made for one site: it takes the properties of that site apart. The published plugin runs in the sandbox.',
  },
  { name: 'Hello World', reason: 'A sample for authors. The published plugin runs in the sandbox.' },
  { name: 'Secure Events', reason: 'A template for tests, without an effect.' },
  {
    name: 'Device marketing names',
    reason: 'Its table of device names changes all the time. "Remap property values" takes a table of your own.',
  },
  {
    name: 'Meta Ads click IDs',
    reason: 'Serves one destination only, which this program does not have.',
  },
  {
    name: 'Typesafe',
    reason: 'A demonstration that has a language model sort events. A plugin of your own may ask one through fetch.',
  },
];
