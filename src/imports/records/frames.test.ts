import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { readRecords, type ReadHints } from './read-records.ts';
import { cutAt, readBack, type ReadBack } from './record-files.fixture.ts';

const hints: ReadHints = { name: 'a', signal: new AbortController().signal, tempDir: 'none' };
const record = (id: number): Record<string, unknown> => ({
  event: 'a',
  id,
  note: '}{ "q" [,] \\ ü',
  list: [{ a: [] }],
});
const given = Array.from({ length: 300 }, (_, id) => record(id));
const json = given.map((each) => JSON.stringify(each));
const pretty = given.map((each) => JSON.stringify(each, null, 2));

const frames: readonly (readonly [string, string, string])[] = [
  ['records without anything between them', json.join(''), 'one record after the other'],
  ['records with commas between them', json.join(','), 'one record after the other'],
  [
    'several records on each line',
    json.map((each, at) => each + (at % 3 === 2 ? '\n' : '')).join(''),
    'one record after the other',
  ],
  ['pretty records without anything between them', pretty.join(''), 'one record after the other'],
  ['pretty records with commas between them', pretty.join(',\n'), 'one record after the other'],
  ['a JSON text sequence', json.map((each) => `\u001e${each}\n`).join(''), 'JSON text sequence'],
  ['a JSON text sequence of pretty records', pretty.map((each) => `\u001e${each}\n`).join(''), 'JSON text sequence'],
  ['lines that end with commas', json.join(',\n'), 'between commas'],
  ['lines that end with commas, the last one too', `${json.join(',\r\n')},\r\n`, 'between commas'],
  ['lines that begin with commas', json.join('\n,'), 'between commas'],
  ['lines that begin with commas, the first one too', `,${json.join('\n, ')}\n`, 'between commas'],
  ['a page in "results"', JSON.stringify({ count: 300, next: null, results: given }), 'the list "results"'],
  ['a pretty page in "data"', JSON.stringify({ data: given, meta: { total: 300 } }, null, 1), 'the list "data"'],
  ['pages, one a line', json.map((each) => `{"results":[${each}],"next":"x"}\n`).join(''), 'the list "results"'],
  ['arrays without anything between them', json.map((each) => `[${each}]`).join(''), 'JSON arrays'],
  ['JSON strings that hold a record', json.map((each) => JSON.stringify(each)).join('\n'), 'JSON strings'],
  [
    'JSON strings that hold a pretty record',
    `${pretty.map((each) => JSON.stringify(each)).join('\n')}\n`,
    'JSON strings',
  ],
];

async function readingOf(text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { readAs } of readRecords(cutAt(Buffer.from(text), []), hints)) {
    if (readAs !== undefined) found.push(readAs);
  }
  return found;
}

function parsed({ lines }: ReadBack): unknown[] {
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
}

describe('layouts of records in a file', () => {
  const every = Array.from({ length: 3000 }, (_, at) => at + 1);
  const spread = Array.from({ length: 500 }, (_, at) => at * 773);

  it.each(frames)('%s are recognised and reported, however the bytes are split', async (_name, text, how) => {
    for (const bytes of [Buffer.from(text), gzipSync(text)]) {
      for (const cuts of [[], every, spread]) {
        const read = await readBack(cutAt(bytes, cuts), hints);
        expect(parsed(read)).toEqual(given);
        expect(read.faults).toEqual([]);
      }
    }
    expect(await readingOf(text)).toEqual([expect.stringContaining(how)]);
  });

  it.each([
    ['with other members', { app_id: 'x', data: [{ a: 1 }] }],
    ['a batch of a vendor', { events: [{ a: 1 }], mpid: '1' }],
    ['without a list of objects', { data: [1, 2], next: null }],
  ])('an object that contains a list is a record: %s', async (_name, object) => {
    const text = `${JSON.stringify(object)}\n`;
    expect(parsed(await readBack(cutAt(Buffer.from(text + text), []), hints))).toEqual([object, object]);
    expect(parsed(await readBack(cutAt(Buffer.from(text), []), hints))).toEqual([object]);
  });

  it('a record that is too long is rejected even without lines, and those around it are read', async () => {
    const long = JSON.stringify({ a: 'x'.repeat(21 * 1024 * 1024) });
    const text = `\u001e${json[0]}\n\u001e${long}\n\u001e${json[1]}\n`;
    const read = await readBack(cutAt(Buffer.from(text), [1e6, 9e6, 17e6]), hints);
    expect(parsed(read)).toEqual([given[0], given[1]]);
    expect(read.faults).toMatchObject([{ place: 'record 2' }]);
  });

  it('a truncated record of a sequence affects no other', async () => {
    const text = `\u001e${json[0]}\n\u001e{"a":"b\n\u001e${json[1]}\n`;
    const { lines } = await readBack(cutAt(Buffer.from(text), []), hints);
    expect([lines.length, JSON.parse(lines[0] ?? ''), JSON.parse(lines[2] ?? '')]).toEqual([3, given[0], given[1]]);
  });
});

const piece = fc.constantFrom(
  'text',
  ' ',
  '{',
  '}',
  '}\n{',
  '[]',
  ',',
  ':',
  'é',
  '\\',
  '"',
  '\n',
  '\r\n',
  '\t',
  '\u0000',
  '\n\n',
  '{}',
);
const textOf = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
/** As written by an exporter that does not escape control characters. */
const raw = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/\\[ntr]|\\u0000/g, (escape, at: number, all: string) =>
    backslashesBefore(all, at) % 2 === 0 ? (JSON.parse(`"${escape}"`) as string) : escape,
  );

function backslashesBefore(text: string, at: number): number {
  let count = 0;
  while (text[at - 1 - count] === '\\') count += 1;
  return count;
}

describe('lines of JSON with raw control characters in their strings', () => {
  const linesOf = (text: string, cuts: readonly number[] = []) => readBack(cutAt(Buffer.from(text), cuts), hints);

  it('a record over several lines is one, its value is kept, and lines keep their numbers', async () => {
    const values = [{ a: 'first\nsecond' }, { b: 1 }, { c: 'x\r\n\r\ny', d: 'a\tb\u0000' }, { e: 2 }];
    const { lines } = await linesOf(values.map((each) => `${raw(each)}\n`).join(''));
    expect(lines.map((line) => (line.trim() === '' ? line : (JSON.parse(line) as unknown)))).toEqual([
      values[0],
      '\f',
      values[1],
      values[2],
      '\f',
      '\f',
      values[3],
    ]);
  });

  it('in arrays, too, line breaks within strings are kept', async () => {
    const values = [{ a: 'first\nsecond\t' }, { b: 1 }];
    expect(parsed(await linesOf(`[\n${values.map(raw).join(',\n')}\n]`))).toEqual(values);
  });

  it('a truncated line affects no other and is one broken record', async () => {
    const { lines } = await linesOf(
      '{"a":1}\n{"note":"cut\n{"b":2}\n{"c":"cut "too"\nmore" of it\n{}\n{"d":4}\nend "early\n',
    );
    expect(lines.filter((line) => line !== '\f')).toEqual([
      '{"a":1}',
      '{"note":"cut',
      '{"b":2}',
      '{"c":"cut "too"',
      'more" of it',
      '{}',
      '{"d":4}',
      'end "early',
    ]);
  });

  const id = fc.nat({ max: 1e6 });
  const good = fc
    .record({ event: fc.constant('good'), id, note: textOf })
    .map((value) => ({ kind: 'good', text: JSON.stringify(value), value }) as const);
  const broken = fc
    .record({ event: fc.constant('raw'), note: textOf, more: textOf })
    .map((value) => ({ kind: 'good', text: raw(value), value }) as const);
  const cut = fc.record({ event: fc.constant('cut'), note: textOf }).chain((value) => {
    const text = JSON.stringify({ ...value, end: '' });
    return fc
      .integer({ min: 1, max: text.length - 1 })
      .map((end) => ({ kind: 'cut', text: text.slice(0, end), value }) as const);
  });

  it('in any order, every sound and raw line is read, and every truncated line is rejected once', async () => {
    const file = fc.array(fc.oneof(good, broken, cut), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        file,
        fc.array(fc.nat({ max: 900 }), { maxLength: 9 }),
        fc.boolean(),
        async (parts, cuts, commas) => {
          // The first line decides what the file is.
          const all = [{ kind: 'good', text: '{"event":"first"}', value: { event: 'first' } } as const, ...parts];
          const text = all.map((part) => `${part.text}${commas ? ',' : ''}\n`).join('');
          const { lines, faults } = await linesOf(text, cuts);
          expect(lines).toHaveLength(text.split('\n').length - 1);
          const found = lines.filter((line) => line !== '\f').map(valueOf);
          expect(found.filter((value) => value !== 'broken')).toEqual(
            all.filter(({ kind }) => kind === 'good').map(({ value }) => value),
          );
          expect(found.filter((value) => value === 'broken')).toHaveLength(
            all.filter(({ kind }) => kind === 'cut').length,
          );
          expect(faults).toEqual([]);
        },
      ),
      { numRuns: 400 },
    );
  });
});

function valueOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return 'broken';
  }
}
