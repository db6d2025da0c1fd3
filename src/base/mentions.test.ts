import { expect, it } from 'vitest';
import { createMentions } from './mentions.ts';

const hostile = ["o'brien", 'a"b', 'back\\slash', 'ü 😀', '12345678901234567890', 'a,b', '{x}', ' '];

it.each(hostile)('finds the id %j as JSON, escaped, in a text in a text, and not as a part of another', (id) => {
  const { in: isIn } = createMentions([id, 'other']);
  const record = JSON.stringify({ a: 1, id });
  const escaped = record.replaceAll(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  for (const text of [record, escaped, JSON.stringify({ original: record }), JSON.stringify([[id]])])
    expect(isIn(text)).toBe(true);
  expect(isIn(JSON.stringify({ a: `${id}x`, b: `x${id}`, [`${id} `]: 1 }))).toBe(false);
});

it('finds numbers and cells of CSV, and keeps long texts apart that only begin alike', () => {
  const { in: isIn } = createMentions(['9007199254740993']);
  expect(isIn('{"id":9007199254740993}')).toBe(true);
  expect(isIn('{"id":9007199254740992}')).toBe(false);
  expect(isIn('1,9007199254740993,x')).toBe(true);
  expect(isIn('1,90071992547409930,x')).toBe(false);
});
