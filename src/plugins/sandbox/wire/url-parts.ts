/** Parts of a URL, in the order in which the op returns and the guest reads them. */
export const urlParts = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
export type UrlPart = (typeof urlParts)[number];
