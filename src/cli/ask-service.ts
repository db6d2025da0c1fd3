import { request as requestHttp } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

/** A request whose body is text. */
export interface Asked {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Undefined: there is none of this name, which is in lower case. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** Node's own client: loading `fetch` takes a quarter of the processor time of a short command. Follows no redirects. Rejects as it does. */
export async function askService(url: string, { method, headers, body, signal }: Asked): Promise<ServiceAnswer> {
  // What TLS needs takes a while to load.
  const request = url.startsWith('https:') ? (await import('node:https')).request : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal }, (answer) => {
      const { statusCode: status = 0, statusMessage: statusText = '', headers: got } = answer;
      const header = (name: string): string | undefined => got[name]?.toString();
      textOf(answer).then((text) => resolve({ status, statusText, header, text }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
