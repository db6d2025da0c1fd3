/** A session as the sign-in page starts it, with a personal key. */
export async function sessionCookie(
  server: { readonly url: string },
  key: string,
): Promise<{ name: string; value: string; url: string }> {
  const body = new URLSearchParams({ key });
  const headers = { origin: server.url };
  const answer = await fetch(`${server.url}/login`, { method: 'POST', body, headers, redirect: 'manual' });
  const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '') ?? [];
  if (value === '') throw new Error(`expected a session, got status ${answer.status}: ${await answer.text()}`);
  return { name, value, url: server.url };
}
