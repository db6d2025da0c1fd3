/** An address as it may be shown: without user, password and query, which may be credentials. */
export function withoutCredentials(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '';
  return `${url.protocol}//${url.host}${url.pathname}`;
}
