import { describe, expect, it } from 'vitest';
import { blockBytes, createBlockWriter, emptyBlockEvent, readBlock, type Block } from './spill-block.ts';

const source = Buffer.from('{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}\n');

function eventAt(index: number): ReturnType<typeof emptyBlockEvent> {
  const event = emptyBlockEvent();
  for (const [place, key] of (Object.keys(event) as (keyof typeof event)[]).entries()) event[key] = index * 100 + place;
  return event;
}

function jsonOf({ json, start, count }: Block): string[] {
  return Array.from({ length: count }, (_, at) => json.toString('utf8', start[at], start[at + 1]));
}

/** Lines of `source`, in this order. */
function writeLines(lines: readonly number[]): Buffer {
  const writer = createBlockWriter(1000);
  for (const line of lines) writer.add(eventAt(line), source, line * 8, line * 8 + 8);
  return writer.finish();
}

describe('a block of a spill', () => {
  it.each([[[0, 1, 2, 3]], [[2, 0, 1, 3]], [[3, 2, 1, 0]], [[1]]])(
    'of the lines %j: gives back what was put into it',
    (lines) => {
      const block = readBlock(writeLines(lines), blockBytes(lines.length, lines.length * 8));
      expect(jsonOf(block)).toEqual(lines.map((line) => `{"a":${line + 1}}\n`));
      expect([...block.micros]).toEqual(lines.map((line) => line * 100));
      expect([...block.name]).toEqual(lines.map((line) => line * 100 + 7));
      expect([...block.contentHigh]).toEqual(lines.map((line) => line * 100 + 6));
    },
  );

  it('keeps what was copied when its source goes, and is empty when it is finished', () => {
    const writer = createBlockWriter(1000);
    const first = Buffer.from(source);
    writer.add(eventAt(0), first, 0, 8);
    writer.copy();
    first.fill(0);
    writer.add(eventAt(1), source, 8, 16);
    const block = readBlock(writer.finish(), blockBytes(2, 16));
    expect(jsonOf(block)).toEqual(['{"a":1}\n', '{"a":2}\n']);
    expect([writer.count, writer.jsonBytes]).toEqual([0, 0]);
  });

  it('is not taken for a good one with any byte changed, or cut', () => {
    const bytes = writeLines([0, 1, 2, 3]);
    const read = (damaged: Buffer) => (): Block => readBlock(damaged, blockBytes(4, 32));
    for (const at of bytes.keys()) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      expect(read(damaged)).toThrow('expected a block of');
    }
    expect(read(bytes.subarray(0, -1))).toThrow('expected a block of');
    expect(read(bytes.subarray(0, 5))).toThrow('expected a block of');
  });
});
