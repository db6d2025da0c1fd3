import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError } from '../source.ts';
import { makeTar, makeZip } from '../../../test/support/archives.ts';
import { packBzip2 } from '../../../test/support/pack-bzip2.ts';
import { packXz } from '../../../test/support/pack-xz.ts';
import { readRecordFile, type ReadHints } from './read-records.ts';
import { collect, cutAt, readBack, wrapIn, writeAs, type ReadBack, type TextRecord } from './record-files.fixture.ts';

const tempDir = mkdtempSync(join(tmpdir(), 'millrace-records-'));
const hints: ReadHints = { name: 'a', signal: new AbortController().signal, tempDir };
afterAll(() => rmSync(tempDir, { recursive: true, force: true }));

const specialTexts = [
  '',
  'plain',
  'a "quote"',
  'comma, semicolon; tab\t',
  'line\nbreak\r\n',
  'ünï €😀',
  '{"batch":[1,]}',
  '\\"]}',
];
const value = fc.oneof(fc.constantFrom(...specialTexts), fc.string({ unit: 'binary', maxLength: 20 }));
const records: fc.Arbitrary<TextRecord[]> = fc.array(
  fc.record({ event: fc.constantFrom('signed up', 'paid'), id: value, note: value }),
  { minLength: 1, maxLength: 25 },
);
const cuts = fc.array(fc.nat({ max: 4000 }), { maxLength: 12 });

function parsed({ lines }: ReadBack): unknown[] {
  return lines.map((line) => JSON.parse(line) as unknown);
}

async function readText(text: string | Buffer, more: Partial<ReadHints> = {}): Promise<ReadBack> {
  return await readBack(cutAt(Buffer.from(text), [5, 17, 40]), { ...hints, ...more });
}

describe('records of a file', () => {
  const forms = Object.keys(writeAs).flatMap((form) =>
    Object.keys(wrapIn).map((wrapping) => [form, wrapping] as const),
  );

  it.each(forms)(
    '%s in %s: the same records, however the bytes are cut and wherever they lie',
    async (form, wrapping) => {
      const path = join(tempDir, 'file');
      await fc.assert(
        fc.asyncProperty(records, cuts, async (given, at) => {
          const bytes = wrapIn[wrapping]?.(writeAs[form]?.(given) ?? Buffer.alloc(0)) ?? Buffer.alloc(0);
          const streamed = await readBack(cutAt(bytes, at), hints);
          expect(parsed(streamed)).toEqual(given);
          expect(streamed.faults).toEqual([]);
          expect(streamed.bytesRead).toBe(bytes.length);
          writeFileSync(path, bytes);
          expect((await collect(readRecordFile(path, hints))).lines).toEqual(streamed.lines);
        }),
        { numRuns: 4 },
      );
    },
  );

  it('no temporary files of archives remain', async () => {
    const bytes = wrapIn['zip']?.(Buffer.from('{"a":1}\n')) ?? Buffer.alloc(0);
    expect(parsed(await readText(bytes))).toEqual([{ a: 1 }]);
    expect(readdirSync(tempDir).filter((name) => name.endsWith('.spool'))).toEqual([]);
  });

  it('files of an archive are read in its order, without those that archivers add', async () => {
    const files = ['b', 'a/1', '.DS_Store', 'a/._1'].map((path) => ({ path, content: `{"file":"${path}"}` }));
    expect(parsed(await readText(makeZip(files)))).toEqual([{ file: 'b' }, { file: 'a/1' }]);
  });

  it('an empty file, array or archive has no records', async () => {
    for (const empty of ['', '[]', ' [ ]\n', '{"batch":[]}', gzipSync(''), makeZip([])]) {
      expect(await readText(empty)).toMatchObject({ lines: [], faults: [] });
    }
  });

  it('an aborted signal ends reading with its reason', async () => {
    const controller = new AbortController();
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) yield Buffer.from(`{"a":"${'x'.repeat(100_000)}"}\n`);
    }
    const reading = async (): Promise<void> => {
      for await (const { count } of await Promise.resolve(readAll(endless(), controller.signal))) {
        if (count > 0) controller.abort(new Error('paused'));
      }
    };
    await expect(reading()).rejects.toThrow('paused');
  });
});

async function* readAll(chunks: AsyncIterable<Buffer>, signal: AbortSignal) {
  const { readRecords } = await import('./read-records.ts');
  yield* readRecords(chunks, { ...hints, signal });
}

describe('input that is not a record', () => {
  it('lines of NDJSON pass unchanged, even blank and broken ones', async () => {
    const text = '{"a":1}\n\n{"b":\nnonsense\r\n{"c":3}';
    expect((await readText(text)).lines).toEqual(['{"a":1}', '', '{"b":', 'nonsense\r', '{"c":3}']);
  });

  it('a line that is too long is a fault, and the lines after it keep their numbers', async () => {
    const long = `{"a":"${'x'.repeat(21 * 1024 * 1024)}"}`;
    const { lines, faults } = await readBack(cutAt(Buffer.from(`{"a":1}\n${long}\n{"a":3}\n`), []), hints);
    expect(lines).toEqual(['{"a":1}', '\v', '{"a":3}']);
    expect(faults).toMatchObject([{ place: 'line 2', reason: expect.stringContaining('at most 20971520 bytes') }]);
    expect(faults[0]?.original.length).toBeLessThan(3000);
    const array = await readBack(cutAt(Buffer.from(`[{"a":1},${long},{"a":3}]`), [1e6, 2e6]), hints);
    expect(array.lines).toEqual(['{"a":1}', '{"a":3}']);
    expect(array.faults).toMatchObject([{ place: 'record 2' }]);
  });

  it('an element that is not JSON affects no other', async () => {
    expect((await readText('[{"a":1}, nonsense, {"b": }}, {"c":3},]')).lines).toEqual([
      '{"a":1}',
      'nonsense',
      '{"b": }}',
      '{"c":3}',
    ]);
  });

  it('an object without records among batches is a fault', async () => {
    const { lines, faults } = await readText('{"batch":[{"a":1}]}\n{"event":"b"}\n{"batch":[{"a":2}]}');
    expect(lines).toEqual(['{"a":1}', '{"a":2}']);
    expect(faults).toMatchObject([{ place: 'after record 1' }]);
  });

  it('a broken row of CSV affects only its own line', async () => {
    const rows = ['id,note', '1,"a"', '2,"stray', '3,"c ""d"""', '4', '5,e,f', '6,"g"h', '7,"two\nlines"', '8,end"'];
    const { lines, faults } = await readText(rows.join('\n'));
    expect(lines.map((line) => Object.values(JSON.parse(line) as object))).toEqual([
      ['1', 'a'],
      ['3', 'c "d"'],
      ['7', 'two\nlines'],
      ['8', 'end"'],
    ]);
    expect(faults.map(({ place, original }) => `${place}: ${original}`)).toEqual([
      'line 3: 2,"stray',
      'line 5: 4',
      'line 6: 5,e,f',
      'line 7: 6,"g"h',
    ]);
  });

  it('an unclosed quote affects one line, regardless of what follows', async () => {
    const rows = Array.from({ length: 2000 }, (_, index) => `${index},${'x'.repeat(4000)}`);
    const text = ['id,note', '-1,"open', ...rows].join('\n');
    const { lines, faults } = await readBack(cutAt(Buffer.from(text), [1e5, 5e5, 1e6, 5e6]), hints);
    expect([lines.length, faults.length]).toEqual([2000, 1]);
  });

  it('a row that is not UTF-8 is a fault', async () => {
    const bytes = Buffer.concat([Buffer.from('id,note\n1,a\n2,'), Buffer.from([0xe9]), Buffer.from('\n3,é\n')]);
    const { lines, faults } = await readBack(cutAt(bytes, []), hints);
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['1', '3']);
    expect(faults).toMatchObject([{ place: 'line 3', reason: expect.stringContaining('UTF-8') }]);
  });

  it('CSV columns with repeated or empty names get unique names', async () => {
    expect((await readText('a,a,,b\n1,2,3,4')).lines).toEqual(['{"a":"1","a_2":"2","column_3":"3","b":"4"}']);
  });

  it('20,000 columns of one name get unique names', async () => {
    const count = 20_000;
    const { lines } = await readText(`${'a,'.repeat(count)}a_7\n${'1,'.repeat(count)}2`);
    const row = JSON.parse(lines[0] ?? '') as Record<string, string>;
    expect(Object.keys(row)).toHaveLength(count + 1);
    expect([row['a'], row['a_2'], row[`a_${count}`], row['a_7_2']]).toEqual(['1', '1', '1', '2']);
  });
});

describe('damage', () => {
  const sound = Buffer.from(
    Array.from({ length: 3000 }, (_, a) => `{"a":${a},"b":"${randomBytes(9).toString('hex')}"}\n`).join(''),
  );
  const some = sound.subarray(0, 20_000);
  const cut = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
  const cases: readonly (readonly [string, Buffer, RegExp])[] = [
    ['gzip', cut(gzipSync(sound)), /gzip data of a ends too early at byte \d+/],
    ['zstd', cut(zstdCompressSync(sound)), /zstd data of a ends too early at byte \d+/],
    ['zip', cut(makeZip([{ path: 'x', content: sound }])), /zip archive a is damaged or truncated/],
    [
      'Parquet',
      cut(writeAs['parquet']?.([{ event: 'a', id: 'b', note: 'c' }]) ?? sound),
      /no readable footer at byte \d+/,
    ],
    ['an array', Buffer.from('[{"a":1},{"b'), /ends within a JSON value at byte 12/],
    ['xz', cut(packXz(sound)), /xz data of a ends too early at byte \d+/],
    ['bzip2', cut(packBzip2(some)), /bzip2 data of a at byte \d+ cannot be read: it ends too early/],
    ['tar', cut(makeTar([{ path: 'x', content: sound }])), /tar archive a: x ends \d+ bytes too early/],
    ['tar between members', makeTar([{ path: 'x', content: '{}' }]).subarray(0, 1024), /a ends before its end mark/],
    ['xz in the middle', flipped(packXz(sound)), /xz data of a is damaged at byte \d+/],
    ['bzip2 in the middle', flipped(packBzip2(some)), /bzip2 data of a at byte \d+ cannot be read/],
    [
      'the header of a tar member',
      flipped(makeTar([{ path: 'x' }, { path: 'y' }]), 530),
      /does not match its checksum/,
    ],
    [
      'gzip in the middle',
      flipped(gzipSync(sound)),
      /gzip data of a (is damaged at|ends too early at|does not match its checksum between) bytes? \d+/,
    ],
  ];

  function flipped(bytes: Buffer, at = 1000): Buffer {
    return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(50, 0xff), bytes.subarray(at + 50)]);
  }

  it.each(cases)('%s: is reported with its position, and is retried a few times', async (_name, bytes, message) => {
    const error = await readBack(cutAt(bytes, [100, 5000]), hints).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceWaitError);
    expect(error).toMatchObject({ unlimited: false, message: expect.stringMatching(message) });
  });

  describe('bytes after the end of gzip data', () => {
    const members = Buffer.concat([gzipSync('{"a":1}\n'), gzipSync(''), gzipSync('{"a":2}\n')]);
    const every = Array.from({ length: 2000 }, (_, at) => at);

    it.each([
      ['zeros are padding', Buffer.alloc(700)],
      ['one zero is padding', Buffer.alloc(1)],
      ['nothing', Buffer.alloc(0)],
    ])('%s', async (_name, behind) => {
      const bytes = Buffer.concat([members, behind]);
      for (const at of [[], every]) {
        expect(parsed(await readBack(cutAt(bytes, at), hints))).toEqual([{ a: 1 }, { a: 2 }]);
      }
    });

    it.each([
      ['words', Buffer.from('garbage\n')],
      ['one byte', Buffer.from('x')],
      ['zeros, then words', Buffer.concat([Buffer.alloc(700), Buffer.from('x')])],
      ['half a header', Buffer.from([0x1f])],
    ])('%s are rejected with their position', async (_name, behind) => {
      const bytes = Buffer.concat([members, behind]);
      for (const at of [[], every]) {
        const error = await readBack(cutAt(bytes, at), hints).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(SourceError);
        expect(String(error)).toMatch(`the gzip data of a ends at byte ${members.length}, and is followed by`);
      }
    });

    it('a member that does not match its checksum is reported with its bytes', async () => {
      const bytes = Buffer.from(members);
      const last = bytes.length - 8;
      bytes[last] = (bytes[last] ?? 0) ^ 1;
      await expect(readBack(cutAt(bytes, every), hints)).rejects.toThrow(
        new RegExp(`does not match its checksum between bytes \\d+ and ${bytes.length}`),
      );
    });

    it('names, comments, extra fields and checksums of a header are skipped', async () => {
      const plain = gzipSync('{"a":3}\n');
      const more = Buffer.concat([Buffer.from([3, 0, 1, 2, 3]), Buffer.from('name\0comment\0'), Buffer.from([9, 9])]);
      const head = Buffer.from(plain.subarray(0, 10));
      head[3] = 2 + 4 + 8 + 16;
      const bytes = Buffer.concat([head, more, plain.subarray(10)]);
      for (const at of [[], every]) expect(parsed(await readBack(cutAt(bytes, at), hints))).toEqual([{ a: 3 }]);
    });
  });

  it('a file on disk is not retried: the damage is permanent', async () => {
    const path = join(tempDir, 'cut.gz');
    writeFileSync(path, cut(gzipSync(sound)));
    const error = await collect(readRecordFile(path, hints)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(error).toMatchObject({ message: expect.stringMatching(/gzip data of a ends too early at byte \d+/) });
  });

  it('an error of the source passes through unchanged', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield zstdCompressSync(sound).subarray(0, 1000);
      throw new SourceWaitError('the connection broke', { unlimited: true });
    }
    await expect(readBack(broken(), hints)).rejects.toThrow('the connection broke');
    async function* brokenGzip(): AsyncGenerator<Buffer> {
      yield gzipSync(sound).subarray(0, 1000);
      throw new SourceWaitError('the connection broke', { unlimited: true });
    }
    await expect(readBack(brokenGzip(), hints)).rejects.toThrow('the connection broke');
  });

  it('excessive expansion is rejected', async () => {
    const member = gzipSync(Buffer.alloc(256 * 1024, '{"a":1}\n'));
    async function* members(count: number): AsyncGenerator<Buffer> {
      for (let times = 0; times < count; times += 1) yield member;
    }
    const guarded = { ...hints, ratioMax: 100, unguardedBytes: 1024 * 1024 };
    await expect(readBack(members(6), guarded)).rejects.toThrow(/at most 100 decompressed bytes/);
    // Small enough to compress as it likes, and not beyond measure.
    expect((await readBack(members(4), guarded)).lines).toHaveLength(128 * 1024);
    expect((await readBack(members(6), { ...guarded, ratioMax: 2000 })).lines).toHaveLength(192 * 1024);
  });

  const refused: readonly (readonly [string, Buffer])[] = [
    ['7-Zip', Buffer.from('7z\xbc\xaf\x27\x1c', 'latin1')],
    ['with the source sqlite', Buffer.from('SQLite format 3\0')],
    ['source duckdb', Buffer.concat([Buffer.alloc(8, 1), Buffer.from('DUCK')])],
    ['HTML', Buffer.from('\ufeff<!DOCTYPE html>', 'utf16le')],
    ['HTML', Buffer.from('<!DOCTYPE html><html>')],
    ['binary', Buffer.from([1, 2, 0, 3, 4])],
    ['begins', Buffer.from('just a sentence')],
    ['layers', gzipSync(gzipSync(gzipSync(gzipSync('{}'))))],
  ];
  it.each(refused)('%s is rejected with an explanation', async (word, bytes) => {
    const error = await readBack(cutAt(bytes, []), hints).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(String(error)).toMatch(new RegExp(word));
  });
});

describe('text in UTF-16', () => {
  const text = '\ufeffname;note\r\n😀;"ünï\r\n€"\r\nb;\r\n';
  const little = Buffer.from(text, 'utf16le');

  it.each([
    ['little endian', little],
    ['big endian', Buffer.from(text, 'utf16le').swap16()],
    ['little endian, packed', gzipSync(little)],
  ])('%s gives the records that it contains, however the bytes are split', async (_name, bytes) => {
    await fc.assert(
      fc.asyncProperty(cuts, async (at) => {
        const read = await readBack(cutAt(bytes, at), hints);
        expect(parsed(read)).toEqual([{ name: '😀', note: 'ünï\r\n€' }, { name: 'b' }]);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['ends within a character', little.subarray(0, -1)],
    ['ends within a pair', Buffer.from('\ufeffa,b\n\ud83d', 'utf16le')],
    ['holds half a pair', Buffer.from('\ufeffa,b\n\ud83d,1\n', 'utf16le')],
  ])('that %s is damaged, and nothing is substituted for it', async (_name, bytes) => {
    await expect(readBack(cutAt(bytes, [3, 9]), hints)).rejects.toThrow(SourceWaitError);
  });
});

describe('a data feed of Adobe Analytics', () => {
  it('has no header: its first line is a record, and a line of names is not', async () => {
    const cells = Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? String(index) : ''));
    const lines = [cells.join('\t'), cells.toReversed().join('\t')];
    const read = await readText(`${lines.join('\n')}\n`);
    expect(read.lines.map((line) => JSON.parse(line) as unknown)).toEqual(lines);
    const names = cells.map((_, index) => `c${index}`).join('\t');
    const named = await readText(`${names}\n${lines.join('\n')}\n`);
    expect(named.lines).toHaveLength(2);
    expect(JSON.parse(named.lines[0] ?? '')).toMatchObject({ c0: '0', c3: '3' });
    expect(JSON.parse(named.lines[0] ?? '')).not.toHaveProperty('c1');
  });
});

describe('a narrow data feed', () => {
  it.each(['1714558830', '2024-05-01 10:20:30'])(
    'has no header where its first line holds the time %s',
    async (time) => {
      const lines = [[time, '1', 'home'].join('\t'), [time, '2', ''].join('\t')];
      const read = await readText(`${lines.join('\n')}\n`);
      expect(parsed(read)).toEqual(lines);
    },
  );

  it('an escaped line break stays in its hit, wherever the bytes are split', async () => {
    const bytes = Buffer.from('1714558830\tfirst\\\nsecond\tx\n1714558831\tends\\\\\n1714558832\topen\\\n');
    const expected = ['1714558830\tfirst\\\nsecond\tx', '1714558831\tends\\\\', '1714558832\topen\\'];
    for (let at = 1; at < bytes.length; at += 1) {
      const read = await readBack(cutAt(bytes, [at]), hints);
      expect(parsed(read)).toEqual(expected);
    }
  });
});

describe('enriched events of Snowplow', () => {
  it('have no header: the first line is an event', async () => {
    const columns = Array.from({ length: 131 }, (_, index) => (index === 5 ? 'page_view' : ''));
    const [first, second] = [['shop', ...columns.slice(1)].join('\t'), ['"q"', ...columns.slice(1)].join('\t')];
    const read = await readText(`${first}\n\n${second}\r\n`);
    expect(read.lines.map((line) => (line === '' ? line : (JSON.parse(line) as unknown)))).toEqual([first, '', second]);
  });

  it('are recognised even if the first line is damaged, which affects no other', async () => {
    const columns = Array.from({ length: 131 }, (_, index) =>
      index === 5 ? 'unstruct' : index === 6 ? '{"q": "r"}' : '',
    );
    const [damaged, good] = [columns.slice(1).join('\t'), columns.join('\t')];
    const read = await readText(`${damaged}\n${good}\n${good}\n`);
    expect(parsed(read)).toEqual([damaged, good, good]);
    expect(read.faults).toEqual([]);
  });

  it('with a line of names are a table', async () => {
    const names = ['app_id', ...Array.from({ length: 130 }, (_, index) => `c${index}`)].join('\t');
    const read = await readText(`${names}\n${names}\n`);
    expect(parsed(read)).toHaveLength(1);
    expect(parsed(read)[0]).toMatchObject({ app_id: 'app_id' });
  });
});
