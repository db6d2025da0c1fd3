import type { RecordChunk, ResolveHost, Source, SourceHost, SourcePart } from '../source.ts';
import { SourceWaitError } from '../source.ts';
import type { TimeRange } from '../source.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import { resolveAllowed } from '../../plugins/outbound/resolve-allowed.ts';
import { createOutboundStream } from '../../plugins/outbound/stream.ts';

/** Returns a host for sources under test, whose servers are on this machine. */
export function testSourceHost(changes: Partial<SourceHost> = {}): SourceHost {
  return {
    stream,
    allowedDirs: undefined,
    resolve: async (host) => host,
    now: () => Date.now(),
    tempDir: '',
    ...changes,
  };
}

/** Like the program's, but for addresses of this machine. */
const stream = createOutboundStream({
  allow: parseAllowList('127.0.0.1'),
  connectTimeoutMs: 5000,
  idleMs: 5000,
});

/** As permitted by MILLRACE_OUTBOUND_ALLOW. */
export function resolveBy(outboundAllow: string): ResolveHost {
  const allow = parseAllowList(outboundAllow);
  return async (host, port) => (await resolveAllowed(host, port, allow)).address;
}

/** Does not wait. */
export async function sleep(): Promise<void> {}

/** Reads a range from a source, part by part, as lines of text. */
export async function readSource(
  source: Source,
  range: TimeRange,
  signal: AbortSignal = new AbortController().signal,
): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const part of await source.listParts(range, { signal, sleep })) {
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
  for await (const chunk of source.open(part, { signal, sleep })) lines.push(...linesOf(chunk));
  return lines;
}

/** Works like the export stage: a part that must wait is restarted immediately, up to a maximum of tries. */
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
