import * as fc from 'fast-check';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError } from '../source.ts';
import { makeTar } from '../../../test/support/archives.ts';
import { packBzip2 } from '../../../test/support/pack-bzip2.ts';
import { packXz } from '../../../test/support/pack-xz.ts';
import { containerOf } from './detect.ts';
import { cutAt, readBack, type ReadBack } from './record-files.fixture.ts';
import type { ReadHints } from './piece.ts';

let tempDir = '';
beforeAll(async () => {
  tempDir = await mkdtemp(join(tmpdir(), 'millrace-archives-'));
});
afterAll(() => rm(tempDir, { recursive: true, force: true }));

async function read(bytes: Buffer, more: Partial<ReadHints> = {}): Promise<ReadBack> {
  return await readBack(cutAt(bytes, [700, 1000]), {
    name: 'a',
    signal: new AbortController().signal,
    tempDir,
    ...more,
  });
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

/** As the tools themselves write them: `printf '{"a":1}\n{"a":2}\n' | xz | base64`. */
const fromTools: readonly (readonly [string, string])[] = [
  ['xz', '/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAPeyJhIjoxfQp7ImEiOjJ9CgAUXxECefcNzAABKBDlC2xgH7bzfQEAAAAABFla'],
  ['bzip2', 'QlpoOTFBWSZTWSKd4ukAAAZZgAAQEAAwECAAAAogADEMCBKAeonCJoaL4u5IpwoSBFO8XSA='],
];

describe('archives and packed files', () => {
  it.each(fromTools)('reads %s as written by the tool itself', async (_name, text) => {
    expect((await read(Buffer.from(text, 'base64'))).lines).toEqual(['{"a":1}', '{"a":2}']);
  });

  it.each([
    ['xz', packXz],
    ['bzip2', packBzip2],
  ])('%s with any single byte altered gives the same records or an error, and always ends', async (_name, pack) => {
    const lines = Array.from({ length: 40 }, (_, a) => `{"a":${a},"text":"${'x'.repeat(a)}"}`);
    const sound = pack(Buffer.from(lines.map((line) => `${line}\n`).join('')));
    const altered = fc.tuple(fc.nat({ max: sound.length - 1 }), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(altered, async ([at, by]) => {
        const bytes = Buffer.from(sound);
        bytes[at] = (bytes[at] ?? 0) ^ by;
        // Its first bytes no longer say what it is: its lines are judged as those of a text, each by itself.
        if (containerOf(bytes) === 'text') return;
        const result = await read(bytes).catch((error: unknown) => error);
        if (result instanceof SourceWaitError || result instanceof SourceError) return;
        expect((result as ReadBack).lines).toEqual(lines);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['xz', packXz(gzipSync(Buffer.alloc(4_000_000, '{}\n')))],
    ['bzip2', packBzip2(gzipSync(Buffer.alloc(4_000_000, '{}\n')))],
    ['tar', makeTar([{ path: 'x', content: gzipSync(Buffer.alloc(4_000_000, '{}\n')) }])],
    // 50,000 bytes that are 45 bytes of bzip2.
    ['bzip2 by itself', Buffer.concat(Array.from({ length: 80 }, () => packBzip2(Buffer.alloc(50_000, ' '))))],
  ])('%s that expands excessively is rejected', async (_name, bytes) => {
    const error = await failure(read(bytes, { ratioMax: 100, unguardedBytes: 1_000_000 }));
    expect(error).toMatchObject({ name: 'SourceError', message: expect.stringContaining('at most 100 decompressed') });
  });

  it('a bzip2 code whose run would never end is rejected immediately', async () => {
    // A block whose one byte is repeated by 40 digits of a length: a number above 32 bits.
    const sound = packBzip2(Buffer.from('ab'.repeat(30)));
    for (let at = 30; at < sound.length; at += 1) {
      const bytes = Buffer.concat([sound.subarray(0, at), Buffer.alloc(200)]);
      expect(await failure(read(bytes))).toBeInstanceOf(SourceWaitError);
    }
  });

  it('members of a tar archive keep their names in messages, even long ones, and are never written to those paths', async () => {
    const path = `${'deep/'.repeat(30)}a.ndjson`;
    const pax = `path=${path}\n`;
    const record = `${pax.length + 4} ${pax}`;
    const [header, ...rest] = [makeTar([{ path: 'PaxHeader', content: record }]).subarray(0, 1024)];
    const typed = Buffer.from(header ?? Buffer.alloc(0));
    typed.write('x', 156);
    typed.write(' '.repeat(8), 148);
    const sum = typed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
    typed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const bytes = Buffer.concat([typed, ...rest, makeTar([{ path: 'short', content: '["broken"' }])]);
    expect(await failure(read(bytes))).toMatchObject({ message: expect.stringContaining(`a: ${path}`) });
    const before = readdirSync(tempDir);
    const outside = makeTar([{ path: '../../../../tmp/millrace-escaped', content: '{"a":1}' }]);
    expect((await read(outside)).lines).toEqual(['{"a":1}']);
    expect(readdirSync(tempDir)).toEqual(before);
  });

  it('data after the end mark of a tar archive is not dropped silently', async () => {
    const one = makeTar([{ path: 'x', content: '{"a":1}' }]);
    expect((await read(Buffer.concat([one, Buffer.alloc(9000)]))).lines).toEqual(['{"a":1}']);
    expect(await failure(read(Buffer.concat([one, one])))).toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining('continues after its end mark'),
    });
  });
});
