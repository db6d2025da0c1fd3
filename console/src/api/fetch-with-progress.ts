interface SentRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob;
}

/**
 * Works like `fetch`, which cannot report progress while a body is being sent.
 *
 * @param onSent receives the number of bytes sent since the start
 */
export function fetchWithProgress(
  url: string,
  { method, headers, body }: SentRequest,
  onSent: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    sent.open(method, url);
    for (const [name, value] of Object.entries(headers)) sent.setRequestHeader(name, value);
    sent.upload.addEventListener('progress', ({ loaded }) => onSent(loaded));
    const answer = (): Response => new Response(sent.responseText, { status: sent.status, headers: headersOf(sent) });
    sent.addEventListener('load', () => resolve(answer()));
    sent.addEventListener('error', () => reject(new TypeError(`expected an answer to ${method} ${url}, got none`)));
    sent.send(body);
  });
}

function headersOf(answered: XMLHttpRequest): [string, string][] {
  const lines = answered
    .getAllResponseHeaders()
    .trim()
    .split(/[\r\n]+/);
  return lines.map((line) => {
    const [name = '', ...value] = line.split(': ');
    return [name, value.join(': ')];
  });
}
