import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openInput } from './open-input.ts';

function inPieces(text: string, size: number): Readable {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return Readable.from(pieces);
}

async function read(text: string, size = 1000): Promise<{ texts: string[]; places: string[]; histories: number }> {
  let histories = 0;
  const { signal } = new AbortController();
  const input = openInput('-', { stdin: inPieces(text, size), signal, onHistory: () => (histories += 1) });
  const found = (await Array.fromAsync(input.records)).flat();
  return { texts: found.map((each) => each.text), places: found.map((each) => each.place), histories };
}

describe('a file is split into records', () => {
  it.each([
    ['nothing', '', []],
    ['white space', ' \n\t\n', []],
    ['lines', '{"a":1}\n{"a":2}\n', ['{"a":1}', '{"a":2}']],
    ['lines without an end, with blank ones and CRLF', '{"a":1}\r\n\r\n{"a":2}', ['{"a":1}', '{"a":2}']],
    ['a byte order mark', '\uFEFF{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']],
    ['a damaged first line', '{"a":"x\n{"a":2}', ['{"a":"x', '{"a":2}']],
    ['a damaged line in between', '{"a":1}\n{"a":\n{"a":3}', ['{"a":1}', '{"a":', '{"a":3}']],
    ['a first line cut after a comma', '{"a":1,\n{"a":2}', ['{"a":1,', '{"a":2}']],
    ['an array', '[{"a":1} , {"b":[1,{"c":"],"}]}]', ['{"a":1}', '{"b":[1,{"c":"],"}]}']],
    ['an empty array', ' [ ] ', []],
    ['an array with an invalid element', '[{"a":1},,3]', ['{"a":1}', '3']],
    ['a batch object', '{"api_key":"x","batch":[{"a":1},{"a":2}],"sent_at":"y"}', ['{"a":1}', '{"a":2}']],
    ['a pretty batch object', '{\n  "batch": [\n {"a":1}\n, {"a":2}\n]\n}\n', ['{"a":1}', '{"a":2}']],
    [
      'batch inside an event is data',
      '{"properties":{"batch":[1]}}\n{"a":2}',
      ['{"properties":{"batch":[1]}}', '{"a":2}'],
    ],
    ['rows of CSV', 'a,b\n1,"2"\n', ['{"a":"1","b":"2"}']],
    ['an escaped quote', '[{"a":"\\"],["}]', ['{"a":"\\"],["}']],
  ])('%s', async (_name, text, records) => {
    for (const size of [1, 7, 1000]) expect((await read(text, size)).texts).toEqual(records);
  });

  it.each([
    '{\n  "event": "x",\n  "properties": {\n "a": 1 }\n}\n',
    '{"event": "x",\n "properties": {"a": 1}}',
    '{ "event":"x", "properties": {\n\n"a": 1 }}',
  ])('a single object over several lines is one record: %j', async (text) => {
    expect((await read(text)).texts.map((each) => JSON.parse(each) as unknown)).toEqual([
      { event: 'x', properties: { a: 1 } },
    ]);
  });

  it('gives the position of a record', async () => {
    expect((await read('{"a":1}\n\n{"a":2}')).places).toEqual(['line 1', 'line 3']);
    expect((await read('[1,2]')).places).toEqual(['record 1', 'record 2']);
  });

  it('reports a batch object marked as historical', async () => {
    expect((await read('{"historical_migration": true,"batch":[]}')).histories).toBe(1);
    expect((await read('{"api_key":"x","batch":[]}')).histories).toBe(0);
  });

  it.each([
    [
      'another kind of file',
      '<html></html>',
      /got an HTML page, probably a sign-in or error page: export the data again/,
    ],
    ['an array that breaks off', '[{"a":1},{"a"', /ends within a JSON value at byte 13/],
  ])('%s is refused', async (_name, text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });

  it('any list of objects is read unchanged, whatever the form and the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 6 }),
        fc.constantFrom('lines', 'array', 'pretty array', 'batch'),
        fc.integer({ min: 1, max: 50 }),
        async (objects, form, size) => {
          fc.pre(!objects.some((each) => Array.isArray(each['batch'])));
          const text = {
            lines: objects.map((each) => JSON.stringify(each)).join('\n'),
            array: JSON.stringify(objects),
            'pretty array': JSON.stringify(objects, null, 2),
            batch: JSON.stringify({ api_key: 'k', batch: objects, end: 1 }),
          }[form];
          const { texts } = await read(text, size);
          expect(texts.map((each) => JSON.parse(each) as unknown)).toEqual(JSON.parse(JSON.stringify(objects)));
        },
      ),
      { numRuns: 200 },
    );
  });
});
