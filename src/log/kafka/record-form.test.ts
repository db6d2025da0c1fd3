import { describe, expect, it } from 'vitest';
import { header, record } from '../../../test/conformance/event-log/event-log.ts';
import { messageOf, recordOf, type KafkaHeaders } from './record-form.ts';

const headersOf = (headers: Map<Buffer, Buffer>): KafkaHeaders => [...headers];

describe('a record as a Kafka message', () => {
  it('is returned unchanged, with a header in any script', () => {
    const full = { ...header('r-1', 7), ip: '2001:db8::1', requestId: 'ю-✓', sentAt: 5, rowsStored: true as const };
    const { value, headers } = messageOf({ header: full, body: new Uint8Array([0, 255, 10]) });
    expect(recordOf(3, headersOf(headers), value)).toEqual({ seq: 3, header: full, body: Buffer.from([0, 255, 10]) });
  });

  it('may have an empty body that Kafka returns as no value', () => {
    const { headers } = messageOf({ header: header('r'), body: new Uint8Array(0) });
    expect(recordOf(1, headersOf(headers), null)).toMatchObject({ header: { requestId: 'r' } });
  });

  it('is a copy of shared memory, which may change while it is sent', () => {
    const body = new Uint8Array(new SharedArrayBuffer(4)).fill(7);
    const { value } = messageOf({ header: header('r'), body });
    body.fill(8);
    expect([...value]).toEqual([7, 7, 7, 7]);
  });

  it('of a newer format is not damaged, whatever else its header contains', () => {
    const newer = { ...header('r'), format: 2, encoding: 'brotli' as 'gzip', requestId: ['r'] as unknown as string };
    const { value, headers } = messageOf({ header: newer, body: new Uint8Array([1]) });
    expect(recordOf(1, headersOf(headers), value)).toMatchObject({ header: { format: 2, requestId: ['r'] } });
    const unknown = messageOf({ header: { ...newer, format: 1 }, body: new Uint8Array([1]) });
    expect(recordOf(1, headersOf(unknown.headers), unknown.value).damaged).toContain('expected the header of a record');
  });

  it('is damaged by any flipped bit in header, checksum or body', () => {
    const { value, headers } = messageOf(record('body'));
    const [first, second] = headersOf(headers).map(([name, content]) => ({
      name,
      content: content ?? Buffer.alloc(0),
    }));
    if (first === undefined || second === undefined) throw new Error('expected two headers');
    for (const part of [value, first.content, second.content]) {
      for (let bit = 0; bit < part.length * 8; bit += 1) {
        const at = bit >> 3;
        part[at] = (part[at] ?? 0) ^ (1 << (bit & 7));
        expect(recordOf(1, headersOf(headers), value).damaged, `bit ${bit}`).toBeDefined();
        part[at] = (part[at] ?? 0) ^ (1 << (bit & 7));
      }
    }
    expect(recordOf(1, headersOf(headers), value).damaged).toBeUndefined();
  });

  it.each([
    ['no headers', []],
    ['no checksum', [[Buffer.from('millrace'), Buffer.from('{}')]]],
    ['an empty header', [[Buffer.from('millrace'), null]]],
  ] as const)('is damaged and keeps its bytes: %s', (_what, headers) => {
    const found = recordOf(9, headers, Buffer.from('x'));
    expect(found).toMatchObject({ seq: 9, damaged: expect.any(String), bytes: Buffer.from('x') });
  });
});
