import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { StagingMissingError, stagingKeys, type Staging } from '../../../src/imports/staging.ts';

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

/** The promises of every adapter of the port. `open` returns an empty one. */
export function stagingConformance(name: string, open: () => Promise<Staging>): void {
  describe(`staging in ${name}`, () => {
    it('returns what was written, in whole and in part, with its SHA-256', async () => {
      const staging = await open();
      const content = randomBytes(300_000);
      const written = await staging.write('r1/a.bin', [content.subarray(0, 7), content.subarray(7)]);
      expect(written).toEqual({ bytes: 300_000, sha256: createHash('sha256').update(content).digest('hex') });
      expect((await bytesOf(staging.read('r1/a.bin'))).equals(content)).toBe(true);
      for (const [start, end] of [
        [0, 1],
        [10, 10],
        [5, 299_999],
        [299_999, 300_000],
      ] as const) {
        const part = await bytesOf(staging.read('r1/a.bin', { start, end }));
        expect(part.equals(content.subarray(start, end))).toBe(true);
      }
    });

    it('stores an empty file', async () => {
      const staging = await open();
      expect(await staging.write('r1/empty', [])).toMatchObject({ bytes: 0 });
      expect((await bytesOf(staging.read('r1/empty'))).length).toBe(0);
      expect(await staging.list('r1/')).toEqual([{ key: 'r1/empty', bytes: 0 }]);
    });

    it('shows nothing until a write is complete, and keeps the previous content until then', async () => {
      const staging = await open();
      await staging.write('r1/a', [Buffer.from('old')]);
      const seen: unknown[] = [];
      async function* slowly(): AsyncGenerator<Buffer> {
        yield Buffer.from('new');
        seen.push(await staging.list('r1/'), (await bytesOf(staging.read('r1/a'))).toString());
        yield Buffer.from('er');
      }
      await staging.write('r1/a', slowly());
      await staging.write('r1/b', [Buffer.from('b')]);
      expect(seen).toEqual([[{ key: 'r1/a', bytes: 3 }], 'old']);
      expect((await bytesOf(staging.read('r1/a'))).toString()).toBe('newer');
    });

    it('a failed write shows nothing and reports why', async () => {
      const staging = await open();
      async function* broken(): AsyncGenerator<Buffer> {
        yield Buffer.from('half');
        throw new Error('the source broke');
      }
      await expect(staging.write('r1/a', broken())).rejects.toThrow('the source broke');
      expect(await staging.list('')).toEqual([]);
      await expect(bytesOf(staging.read('r1/a'))).rejects.toThrow(StagingMissingError);
    });

    it('lists and removes by prefix, in order', async () => {
      const staging = await open();
      const keys = [
        stagingKeys.segment('r1', 2, 1),
        stagingKeys.segment('r1', 1, 12),
        stagingKeys.check('r1'),
        stagingKeys.check('r10'),
      ];
      for (const key of keys) await staging.write(key, [Buffer.from(key)]);
      const listed = async (prefix: string): Promise<string[]> => (await staging.list(prefix)).map(({ key }) => key);
      expect(await listed('r1/')).toEqual(keys.slice(0, 3).toSorted());
      expect(await listed('r1/parts/000001')).toEqual([keys[1]]);
      expect(await listed('nothing/here')).toEqual([]);
      await staging.remove('r1/parts/');
      expect(await listed('')).toEqual([keys[2], keys[3]]);
      await staging.remove('r1/');
      await staging.remove('r1/');
      expect(await listed('')).toEqual([keys[3]]);
    });

    it('refuses keys that lead elsewhere', async () => {
      const staging = await open();
      for (const key of ['../a', 'a/../../b', '/etc/x', 'a//b', 'a b', '']) {
        await expect(async () => await staging.write(key, [Buffer.from('x')])).rejects.toThrow('expected a key');
      }
    });
  });
}
