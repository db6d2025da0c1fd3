/** The first match counts: many browsers also name others, for compatibility. */
const browsers: readonly (readonly [name: string, form: RegExp])[] = [
  ['Edge', /\bEdgA?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/\S+ .*Safari\//],
];
const systems: readonly (readonly [name: string, form: RegExp])[] = [
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
];

/** Returns `Firefox on Linux`, for the list of sessions; empty if the header is missing. */
export function browserName(userAgent: string | undefined): string {
  if (userAgent === undefined || userAgent === '') return '';
  const browser = firstMatch(browsers, userAgent) ?? 'Unknown browser';
  const system = firstMatch(systems, userAgent);
  return system === undefined ? browser : `${browser} on ${system}`;
}

function firstMatch(table: readonly (readonly [name: string, form: RegExp])[], text: string): string | undefined {
  return table.find(([, form]) => form.test(text))?.[0];
}
