import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { OutboundStream, RecordChunk, Source, SourceHost, SourcePart } from '../../imports/source.ts';
import { SourceWaitError } from '../../imports/source.ts';
import type { TimeRange } from '../../imports/run.ts';

/** A host for sources over plain HTTP, without checks of addresses: for servers of tests. */
export function testSourceHost(changes: Partial<SourceHost> = {}): SourceHost {
  return {
    fetch: async () => {
      throw new Error('not for sources under test');
    },
    stream: plainStream,
    allowedDirs: undefined,
    resolve: async (host) => host,
    now: () => Date.now(),
    tempDir: '',
    ...changes,
  };
}

const plainStream: OutboundStream = async ({ url, method = 'GET', headers = {}, body, signal }) => {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest(url, { method, headers, signal, agent: false }, resolve);
  request.on('error', reject);
  request.end(body);
  const response = await promise;
  const flat = Object.entries(response.headers).map(([key, value = '']) => [key, String(value)] as const);
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(flat), body: decoded(response) };
};

function decoded(response: IncomingMessage): AsyncIterable<Buffer> {
  if (response.headers['content-encoding'] !== 'gzip') return response;
  const gunzip = createGunzip();
  // Reading from it ends with the same error.
  pipeline(response, gunzip, () => undefined);
  return gunzip;
}

/** What a source gives for a range, part by part, as texts of lines. */
export async function readSource(
  source: Source,
  range: TimeRange,
  signal: AbortSignal = new AbortController().signal,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const part of await source.listParts(range, { signal })) {
    found.set(part.key, await readPart(source, part, signal));
  }
  return found;
}

export async function readPart(
  source: Source,
  part: SourcePart,
  signal: AbortSignal = new AbortController().signal,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const chunk of source.open(part, { signal })) lines.push(...linesOf(chunk));
  return lines;
}

/** As the export stage does it: a part that has to wait is begun anew, at once, at most so many times. */
export async function readStubbornly(source: Source, range: TimeRange, tries = 20): Promise<Map<string, string[]>> {
  const signal = new AbortController().signal;
  const found = new Map<string, string[]>();
  for (const part of await source.listParts(range, { signal })) {
    for (let attempt = 1; !found.has(part.key); attempt += 1) {
      try {
        found.set(part.key, await readPart(source, part, signal));
      } catch (error) {
        if (!(error instanceof SourceWaitError) || attempt === tries) throw error;
      }
    }
  }
  return found;
}

function linesOf({ lines, count }: RecordChunk): string[] {
  const text = lines.toString('utf8');
  if (!text.endsWith('\n')) throw new Error('expected whole lines');
  const found = text.slice(0, -1).split('\n');
  if (found.length !== count) throw new Error(`expected ${count} lines, got ${found.length}`);
  return found;
}
