import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import { readRecords } from '../../../records/read-records.ts';

const message = (id: string): string =>
  JSON.stringify({
    type: 'track',
    event: id,
    userId: 'u',
    messageId: id,
    originalTimestamp: '2024-01-01T10:00:00.000Z',
    sentAt: '2024-01-01T10:00:05.000Z',
  });
const received = '"receivedAt":"2024-01-01T08:00:05.100Z"';

const files: readonly (readonly [string, string])[] = [
  ['one batch per line', `{"batch":[${message('a')}],${received}}\n{"batch":[${message('b')}],${received}}\n`],
  ['one batch over several lines', `{\n"batch": [\n${message('a')},\n${message('b')}\n],\n${received}\n}\n`],
  ['receivedAt before the batch', `{${received},"batch":[${message('a')},${message('b')}]}\n`],
  ['an archived job', `{"event_payload":{"batch":[${message('a')},${message('b')}],${received}}}\n`],
];

describe('messages in the batch of a gateway', () => {
  it.each(files)('%s: the clock of the sender is corrected', async (_how, file) => {
    const hints = { name: 'gw.ndjson', signal: new AbortController().signal, tempDir: tmpdir() };
    const lines: string[] = [];
    for await (const piece of readRecords(inPieces(file), hints)) {
      expect(piece.faults ?? []).toEqual([]);
      lines.push(...piece.lines.toString().trim().split('\n'));
    }
    await using test = await checkTest({ format: 'segment' });
    await test.stage('gw.ndjson', lines, 10);
    const { notes } = await test.check();
    expect((await test.events()).map(({ event, timestamp }) => [event, timestamp])).toEqual([
      ['a', '2024-01-01T08:00:00.100Z'],
      ['b', '2024-01-01T08:00:00.100Z'],
    ]);
    expect(notes).toMatchObject([{ of: 'segment_clock_corrected', count: expect.any(Number) }]);
  });
});

async function* inPieces(text: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += 100) yield await Promise.resolve(Buffer.from(text.slice(at, at + 100)));
}
