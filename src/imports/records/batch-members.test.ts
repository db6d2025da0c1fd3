import * as fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Piece } from './piece.ts';
import { readValues } from './read-values.ts';
import { cutAt, readBack } from './record-files.fixture.ts';

const tempDir = mkdtempSync(join(tmpdir(), 'millrace-batches-'));
const hints = { name: 'gw.ndjson', signal: new AbortController().signal, tempDir };
afterAll(() => rmSync(tempDir, { recursive: true, force: true }));

const sentAt = '2024-01-01T10:00:05.000Z';
const receivedAt = '2024-01-01T08:00:05.100Z';
const message = (id: string, more: object = {}): object => ({
  type: 'track',
  event: 'fast clock',
  userId: 'u',
  messageId: id,
  originalTimestamp: '2024-01-01T10:00:00.000Z',
  ...more,
});
const batches = [
  JSON.stringify({ batch: [message('1', { sentAt }), message('2', { sentAt })], receivedAt, requestIP: '1.2.3.4' }),
  JSON.stringify({ sentAt, receivedAt, batch: [message('3')] }),
  JSON.stringify({ context: { receivedAt: 'never' }, batch: [message('4', { sentAt })] }),
  JSON.stringify({ batch: [{}, message('5', { properties: { receivedAt: 'mine' }, sentAt })], receivedAt }),
  JSON.stringify({ batch: [message('6', { receivedAt: '2024-01-01T09:00:05.100Z', sentAt })], receivedAt }),
].join('\n');

describe('batches of a gateway', () => {
  it('members of a batch are copied to each of its messages, however the bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: batches.length }), { maxLength: 12 }), async (cuts) => {
        const { lines, faults } = await readBack(cutAt(Buffer.from(batches), cuts), hints);
        expect(faults).toEqual([]);
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
          message('1', { sentAt, receivedAt, requestIP: '1.2.3.4' }),
          message('2', { sentAt, receivedAt, requestIP: '1.2.3.4' }),
          message('3', { sentAt, receivedAt }),
          message('4', { sentAt }),
          { receivedAt },
          message('5', { properties: { receivedAt: 'mine' }, sentAt, receivedAt }),
          message('6', { receivedAt: '2024-01-01T09:00:05.100Z', sentAt }),
        ]);
      }),
      { numRuns: 40 },
    );
  });

  it('a batch too large for memory is still read, and members that come too late to be copied are a fault', async () => {
    const ahead = JSON.stringify({ receivedAt, batch: [message('1'), message('2'), message('3')] });
    const behind = JSON.stringify({ batch: [message('4'), message('5'), message('6')], receivedAt });
    const pieces: Piece[] = [];
    const options = { name: 'a', place: (record: number) => `record ${record}`, heldBytesMax: 300 };
    for await (const piece of readValues(chunksOf(`${ahead}\n${behind}`), 'batch', options)) pieces.push(piece);
    const lines = pieces.flatMap((piece) => piece.lines.toString().trim().split('\n'));
    const read = lines.map((line) => JSON.parse(line) as { messageId: string; receivedAt?: string });
    expect(read.map((each) => [each.messageId, each.receivedAt])).toEqual([
      ['1', receivedAt],
      ['2', receivedAt],
      ['3', receivedAt],
      ['4', undefined],
      ['5', undefined],
      ['6', undefined],
    ]);
    expect(pieces.flatMap(({ faults }) => faults)).toMatchObject([
      { place: 'after record 6', reason: expect.stringContaining('expected receivedAt before the list') },
    ]);
  });
});

async function* chunksOf(text: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += 50) yield await Promise.resolve(Buffer.from(text.slice(at, at + 50)));
}
