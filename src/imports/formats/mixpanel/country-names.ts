/** English names by code, remembered: there are at most 676 codes. */
export function createCountryNames(): (code: string) => string | undefined {
  const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const known = new Map<string, string | undefined>();
  return (code) => {
    if (!/^[a-z]{2}$/i.test(code)) return undefined;
    const key = code.toUpperCase();
    if (!known.has(key)) known.set(key, countries.of(key));
    return known.get(key);
  };
}
