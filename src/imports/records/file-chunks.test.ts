import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { fileChunks, readRecordFile } from './read-records.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-chunks-'));
const path = join(dir, 'file');
const hints = { name: 'file', signal: new AbortController().signal, tempDir: dir };
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Some 9 MB: lines of many lengths, one of them longer than a chunk. */
const text = Array.from({ length: 40_000 }, (_, n) => {
  const long = n === 20_000 ? 3_000_000 : (n * 7919) % 300;
  return `{"n":${n},"text":"${'x'.repeat(long)}"}\n`;
}).join('');

describe('a file in chunks', () => {
  it('yields the lines of the file from two reused buffers', async () => {
    writeFileSync(path, text);
    const memories = new Set<ArrayBufferLike>();
    const lines: string[] = [];
    let count = 0;
    for await (const chunk of readRecordFile(path, hints)) {
      lines.push(chunk.lines.toString());
      count += chunk.count;
      // A line that lies in two chunks is put together elsewhere.
      if (chunk.count > 1) memories.add(chunk.lines.buffer);
    }
    expect(lines.join('') === text).toBe(true);
    expect(count).toBe(40_000);
    expect(memories.size).toBe(2);
  });

  it('chunks stay valid for a consumer that did not allow their reuse', async () => {
    writeFileSync(path, text);
    const chunks: Buffer[] = [];
    for await (const chunk of fileChunks(path, { isReused: false })) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(Buffer.from(text))).toBe(true);
  });

  it('a compressed file gives the same lines', async () => {
    writeFileSync(path, gzipSync(text, { level: 0 }));
    const lines: string[] = [];
    for await (const chunk of readRecordFile(path, hints)) lines.push(chunk.lines.toString());
    expect(lines.join('') === text).toBe(true);
  });

  it('ends when its reader stops early, and names a missing file', async () => {
    writeFileSync(path, text);
    const chunks = fileChunks(path, { isReused: true });
    await chunks.next();
    await chunks.return(undefined);
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
    await expect(fileChunks(join(dir, 'none'), { isReused: true }).next()).rejects.toThrow('ENOENT');
  });
});
