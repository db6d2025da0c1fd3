import { expect, it } from 'vitest';
import { unescapeText } from './unescape-text.ts';

function unescaped(json: string): string | undefined {
  const line = Buffer.from(`${json}\n`);
  const bytes = Buffer.concat([line, Buffer.alloc(line.length)]);
  const { read, written } = unescapeText(bytes, 0, line.length);
  return read === line.length - 1 ? bytes.toString('utf8', line.length, written) : undefined;
}

it.each(['""', '"a"', JSON.stringify('{"a":"\\\\"b"}'), JSON.stringify('\b\f\n\r\t'), '"\\/"', '"ä\u2028"'])(
  '%s is what JSON says',
  (json) => {
    expect(unescaped(json)).toBe(JSON.parse(json));
  },
);

it.each(['"a', '"a\\"', '"\\u0041"', '"\\x"', '"\t"'])('%s is left to the reader', (json) => {
  expect(unescaped(json)).toBeUndefined();
});
