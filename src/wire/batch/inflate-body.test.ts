import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { BodyEncoding } from '../../log/eventlog.ts';
import { inflateBody, type KeptBody } from './inflate-body.ts';

function record(encoding: BodyEncoding, body: Uint8Array): KeptBody {
  return { encoding, body };
}

const events = [{ event: 'a', text: 'two\nlines' }, { event: 'b' }];
const lines = events.map((event) => JSON.stringify(event)).join('\n');
const bytesMax = 1000;

describe('the body of a record', () => {
  it.each<[BodyEncoding, Uint8Array]>([
    ['identity', Buffer.from(JSON.stringify(events))],
    ['gzip', gzipSync(JSON.stringify(events))],
    ['zstd-ndjson', zstdCompressSync(lines)],
    ['zstd-ndjson', zstdCompressSync(`${lines}\n`)],
  ])('is the same JSON in every encoding: %s', (encoding, body) => {
    expect(JSON.parse(inflateBody(record(encoding, body), bytesMax).toString())).toEqual(events);
  });

  it('may be larger for an import than for a client', () => {
    const long = JSON.stringify('x'.repeat(bytesMax));
    expect(inflateBody(record('zstd-ndjson', zstdCompressSync(long)), bytesMax).toString()).toBe(`[${long}]`);
  });

  it.each<[BodyEncoding, Uint8Array]>([
    ['gzip', gzipSync('x'.repeat(bytesMax + 1))],
    ['zstd-ndjson', zstdCompressSync(lines).subarray(0, -3)],
  ])('is refused if it is truncated or unpacks to more than the limit: %s', (encoding, body) => {
    expect(() => inflateBody(record(encoding, body), bytesMax)).toThrow(expect.anything());
  });
});
