import { request, type IncomingMessage } from 'node:http';

export interface OpenStream {
  readonly response: IncomingMessage;
  /** Everything so far. */
  text(): string;
  /** Resolves when the text holds this. */
  until(part: string): Promise<void>;
  readonly ended: Promise<void>;
  close(): void;
}

/** Server-sent events as they come. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  const asked = request(url, { headers, agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.once('response', resolve).once('error', reject).end();
  const response = await promise;
  // The service, or the test, hangs up.
  asked.on('error', () => {});
  let text = '';
  const looks = new Set<() => void>();
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (const look of looks) look();
  });
  return {
    response,
    text: () => text,
    until: (part) =>
      new Promise((done) => {
        const look = (): void => {
          if (!text.includes(part)) return;
          looks.delete(look);
          done();
        };
        looks.add(look);
        look();
      }),
    ended: new Promise((done) => response.once('close', () => done())),
    close: () => asked.destroy(),
  };
}
