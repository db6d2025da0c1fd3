import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { scanLimits } from './limits.ts';
import { scanBatch } from './scan.ts';
import { ScanReceiver, ScanSender } from './scan-relay.ts';
import { spanStride } from './scanned-batch.ts';

const limits = scanLimits(1_000_000);
const event = (n: number) => ({ event: 'seen', distinct_id: `p${n}`, properties: { n, text: 'x'.repeat(100) } });
const bodyOf = (events: number, first = 0) =>
  gzipSync(JSON.stringify({ api_key: 'k', batch: Array.from({ length: events }, (_, n) => event(first + n)) }));
const scanOf = (body: Buffer) => scanBatch(gunzipSync(body), limits);

function relay() {
  const sender = new ScanSender();
  return { sender, receiver: new ScanReceiver(sender.connect()) };
}

describe('the relay of scans', () => {
  it('passes the pipeline what it would have scanned itself', () => {
    const { sender, receiver } = relay();
    const body = bodyOf(300);
    sender.send('live', 7, scanOf(body));
    const found = receiver.take('live', 7);
    expect(found).toEqual(scanOf(body));
    expect(found?.json).toBeInstanceOf(Buffer);
  });

  it('transfers the memory, which leaves the original empty', () => {
    const { sender } = relay();
    const scan = scanOf(bodyOf(300));
    sender.send('live', 1, scan);
    expect([scan.json.length, scan.spans.length]).toEqual([0, 0]);
  });

  it('passes on neither small bodies nor any body before a pipeline is connected', () => {
    const { sender, receiver } = relay();
    for (const [by, scan] of [
      [sender, scanOf(bodyOf(3))],
      [new ScanSender(), scanOf(bodyOf(300))],
    ] as const) {
      const { count } = scan;
      by.send('live', 1, scan);
      expect(scan.spans.length).toBe(count * spanStride);
    }
    expect(receiver.take('live', 1)).toBeUndefined();
  });

  it('returns a scan once, only for its lane, and none of a skipped record', () => {
    const { sender, receiver } = relay();
    for (const seq of [1, 2, 3, 4]) sender.send('live', seq, scanOf(bodyOf(300, seq)));
    sender.send('historical', 3, scanOf(bodyOf(300, 33)));
    expect(receiver.take('live', 3)).toEqual(scanOf(bodyOf(300, 3)));
    for (const seq of [1, 2, 3]) expect(receiver.take('live', seq)).toBeUndefined();
    expect(receiver.take('historical', 3)).toEqual(scanOf(bodyOf(300, 33)));
    expect(receiver.take('live', 4)).toEqual(scanOf(bodyOf(300, 4)));
  });

  it('keeps a bounded amount waiting and continues once it is taken', () => {
    const { sender, receiver } = relay();
    const body = bodyOf(20_000);
    const passedOn = (from: number): number => {
      for (let seq = from; ; seq++) {
        const scan = scanOf(body);
        sender.send('live', seq, scan);
        if (scan.json.length > 0) return seq - from;
      }
    };
    const first = passedOn(1);
    expect(first).toBeGreaterThan(5);
    expect(first).toBeLessThan(50);
    receiver.take('live', first);
    expect(passedOn(first + 1)).toBe(first);
  });

  it('a restarted thread receives only what is sent after its start', () => {
    const sender = new ScanSender();
    sender.connect();
    sender.send('live', 1, scanOf(bodyOf(300)));
    const receiver = new ScanReceiver(sender.connect());
    sender.send('live', 2, scanOf(bodyOf(300, 2)));
    expect(receiver.take('live', 1)).toBeUndefined();
    expect(receiver.take('live', 2)).toEqual(scanOf(bodyOf(300, 2)));
  });
});
