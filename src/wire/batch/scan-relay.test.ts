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
  it('gives the pipeline what it would have found itself', () => {
    const { sender, receiver } = relay();
    const body = bodyOf(300);
    sender.send('live', 7, scanOf(body));
    const found = receiver.take('live', 7);
    expect(found).toEqual(scanOf(body));
    expect(found?.json).toBeInstanceOf(Buffer);
  });

  it('moves the memory: what was handed on is empty where it came from', () => {
    const { sender } = relay();
    const scan = scanOf(bodyOf(300));
    sender.send('live', 1, scan);
    expect([scan.json.length, scan.spans.length]).toEqual([0, 0]);
  });

  it('leaves small bodies as they are, and all of them before there is a pipeline', () => {
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

  it('has a record once, only that of its lane, and none that was passed', () => {
    const { sender, receiver } = relay();
    for (const seq of [1, 2, 3, 4]) sender.send('live', seq, scanOf(bodyOf(300, seq)));
    sender.send('historical', 3, scanOf(bodyOf(300, 33)));
    expect(receiver.take('live', 3)).toEqual(scanOf(bodyOf(300, 3)));
    for (const seq of [1, 2, 3]) expect(receiver.take('live', seq)).toBeUndefined();
    expect(receiver.take('historical', 3)).toEqual(scanOf(bodyOf(300, 33)));
    expect(receiver.take('live', 4)).toEqual(scanOf(bodyOf(300, 4)));
  });

  it('keeps at most a bounded amount waiting, and continues once that is taken', () => {
    const { sender, receiver } = relay();
    const body = bodyOf(20_000);
    const handedOn = (from: number): number => {
      for (let seq = from; ; seq++) {
        const scan = scanOf(body);
        sender.send('live', seq, scan);
        if (scan.json.length > 0) return seq - from;
      }
    };
    const first = handedOn(1);
    expect(first).toBeGreaterThan(5);
    expect(first).toBeLessThan(50);
    receiver.take('live', first);
    expect(handedOn(first + 1)).toBe(first);
  });

  it('a restarted thread gets what is sent from then on', () => {
    const sender = new ScanSender();
    sender.connect();
    sender.send('live', 1, scanOf(bodyOf(300)));
    const receiver = new ScanReceiver(sender.connect());
    sender.send('live', 2, scanOf(bodyOf(300, 2)));
    expect(receiver.take('live', 1)).toBeUndefined();
    expect(receiver.take('live', 2)).toEqual(scanOf(bodyOf(300, 2)));
  });
});
