import { describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { readRecords, type ReadHints } from './read-records.ts';
import { cutAt, readBack } from './record-files.fixture.ts';

const hints: ReadHints = { name: 'a.csv', signal: new AbortController().signal, tempDir: 'none' };
const every = Array.from({ length: 3000 }, (_, at) => at + 1);

/** The rows, asserted to be the same however the bytes are split. */
async function rowsOf(text: string): Promise<unknown[]> {
  const [first, ...others] = await Promise.all(
    [Buffer.from(text), gzipSync(text)].flatMap((bytes) =>
      [[], every].map((cuts) => readBack(cutAt(bytes, cuts), hints)),
    ),
  );
  for (const other of others) expect([other.lines, other.faults]).toEqual([first?.lines, first?.faults]);
  expect(first?.faults).toEqual([]);
  return first?.lines.map((line) => JSON.parse(line) as unknown) ?? [];
}

async function readAs(text: string): Promise<string | undefined> {
  for await (const chunk of readRecords(cutAt(Buffer.from(text), []), hints)) return chunk.readAs;
  return undefined;
}

describe('tables as written by tools', () => {
  it('an empty cell is no value, empty quotes are an empty text, and \\N without quotes is no value', async () => {
    expect(await rowsOf('a,b,c,d\r\n1,,"",\r\n2,"\\N",\\N,\\N\r\n,,,\r\n')).toEqual([
      { a: '1', c: '' },
      { a: '2', b: '\\N' },
      {},
    ]);
  });

  it('quotes after backslashes are interpreted by the content of the table', async () => {
    const text = 'id,note\n1,"He said \\"hi\\", ok"\n2,"C:\\\\dir\\x"\n3,"a ""b"" c"\n4,plain\\\n';
    expect(await rowsOf(text)).toEqual([
      { id: '1', note: 'He said "hi", ok' },
      { id: '2', note: 'C:\\dir\\x' },
      { id: '3', note: 'a "b" c' },
      { id: '4', note: 'plain\\' },
    ]);
    expect(await readAs(text)).toBe(
      'a table with a header, columns separated by commas, quotes escaped by backslashes',
    );
  });

  it('backslashes at the end of quoted cells are literal where the table is valid that way', async () => {
    expect(await rowsOf('id,dir\n1,"C:\\"\n2,"D:\\x"\n')).toEqual([
      { id: '1', dir: 'C:\\' },
      { id: '2', dir: 'D:\\x' },
    ]);
  });

  it.each(['sep=;\r\n', 'sep=;\n', '"sep=;"\n'])('a first line of Excel sets the delimiter: %j', async (line) => {
    expect(await rowsOf(`${line}a;b,c\n1;2\n`)).toEqual([{ a: '1', 'b,c': '2' }]);
    const { faults } = await readBack(cutAt(Buffer.from(`${line}a;b\n1;2\n3\n`), []), hints);
    expect(faults).toMatchObject([{ place: 'line 4' }]);
  });

  it('lines may end with CR alone', async () => {
    expect(await rowsOf('a,b\r1,"x\ny"\r2,\r"3",z')).toEqual([{ a: '1', b: 'x\ny' }, { a: '2' }, { a: '3', b: 'z' }]);
    expect(await readAs('a,b\r1,2\r')).toContain('lines ending with CR');
  });

  it('lines above the header are rejected, with the line in which the table begins', async () => {
    const reading = readBack(cutAt(Buffer.from('Export of site X\nCreated 2024\n\na,b\n1,2\n'), []), hints);
    await expect(reading).rejects.toThrow('a table that begins in line 4: remove the lines above it');
  });

  it('bytes other than UTF-8 are rejected with the command that converts them', async () => {
    const { faults } = await readBack(cutAt(Buffer.from('a,b\n1,caf\xe9\n', 'latin1'), []), hints);
    expect(faults).toMatchObject([{ place: 'line 2', reason: expect.stringContaining('iconv -f WINDOWS-1252') }]);
  });
});
