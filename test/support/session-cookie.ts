import { runCommand } from './command.ts';

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly url: string;
}

/** A session as the sign-in page starts it, with a personal key. */
export function sessionCookie(server: { readonly url: string }, key: string): Promise<Cookie> {
  return signIn(server, { key });
}

/** A session of the first admin with every scope, by the link of `millrace login`. */
export async function adminCookie(server: { readonly url: string; readonly dataDir: string }): Promise<Cookie> {
  const { stdout, stderr } = await runCommand(['login', '--json'], { env: { MILLRACE_DATA_DIR: server.dataDir } });
  const token = /token=([\w-]+)/.exec(stdout)?.[1];
  if (token === undefined) throw new Error(`expected a sign-in link, got: ${stdout}${stderr}`);
  return signIn(server, { token });
}

async function signIn({ url }: { readonly url: string }, by: Readonly<Record<string, string>>): Promise<Cookie> {
  const body = new URLSearchParams(by);
  const answer = await fetch(`${url}/login`, { method: 'POST', body, headers: { origin: url }, redirect: 'manual' });
  const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(answer.headers.get('set-cookie') ?? '') ?? [];
  if (value === '') throw new Error(`expected a session, got status ${answer.status}: ${await answer.text()}`);
  return { name, value, url };
}
