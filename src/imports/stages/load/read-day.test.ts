import { crc32, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { RunFailedError } from '../../run/leased-run.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import { tempStaging } from '../../../../test/support/staged-days.ts';
import { readDayFrames } from './read-day.ts';

const day = '2024-03-01';
const texts = ['{"a":1}\n{"a":2}', '{"a":3}'];
const packed = texts.map((text) => zstdCompressSync(Buffer.from(text)));

function indexOf({ checksums }: { readonly checksums: boolean }): DayIndex {
  let end = 0;
  const frames = packed.map((bytes, at) => {
    const start = end;
    end += bytes.length;
    const own = { start, end, events: 2 - at, bytes: texts[at]?.length ?? 0 };
    return checksums ? { ...own, crc32: crc32(bytes) } : own;
  });
  return { day, frames };
}

async function stage(staging: Staging, frames: readonly Buffer[]): Promise<void> {
  await staging.write(stagingKeys.day('r', day), frames);
}

async function read(staging: Staging, index: DayIndex): Promise<string[]> {
  const found: string[] = [];
  for await (const frame of readDayFrames(staging, 'r', index)) {
    found.push(frame.lines.toString());
    frame.free();
  }
  return found;
}

describe('the frames of a day', () => {
  it.each([{ checksums: true }, { checksums: false }])('give their lines and lie there packed, %j', async (written) => {
    await using temp = await tempStaging();
    await stage(temp.staging, packed);
    expect(await read(temp.staging, indexOf(written))).toEqual(texts);
    const found: Buffer[] = [];
    for await (const frame of readDayFrames(temp.staging, 'r', indexOf(written))) {
      found.push(frame.packed ?? Buffer.alloc(0));
    }
    expect(found).toEqual(packed);
  });

  it.each([{ checksums: true }, { checksums: false }])(
    'a frame that is not what the check wrote is refused before anybody gets it, %j',
    async (written) => {
      await using temp = await tempStaging();
      const damaged = Buffer.from(packed[1] ?? '');
      damaged[0] = (damaged[0] ?? 0) ^ 1;
      await stage(temp.staging, [packed[0] ?? Buffer.alloc(0), damaged]);
      const frames = readDayFrames(temp.staging, 'r', indexOf(written));
      expect((await frames.next()).done).toBe(false);
      await expect(frames.next()).rejects.toThrow(RunFailedError);
    },
  );

  it('another frame of the same length is refused by its checksum', async () => {
    await using temp = await tempStaging();
    const other = zstdCompressSync(Buffer.from('{"a":4}'));
    expect(other.length).toBe(packed[1]?.length);
    await stage(temp.staging, [packed[0] ?? Buffer.alloc(0), other]);
    await expect(read(temp.staging, indexOf({ checksums: true }))).rejects.toThrow('a damaged file');
  });
});
