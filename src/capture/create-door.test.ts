import { describe, expect, it } from 'vitest';
import { lanes, type EventLogWriter } from '../eventlog/eventlog.ts';
import { slotOf } from '../eventlog/slot-of.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createDoor } from './create-door.ts';

function logOf(append: EventLogWriter['append'], slots = 1): EventLogWriter {
  const backlog = () => ({ records: 0, events: 0, bytes: 0 });
  return { slots, append, backlog, end: async () => 0, close: async () => {} };
}

const rest = { encoding: 'identity', events: 7, receivedAt: 0, requestId: 'r' } as const;

describe('the door', () => {
  it('all batches of a project go into one slot of the log', async () => {
    const seen: number[][] = [];
    const log = logOf(async (_lane, { header }, slot) => seen.push([header.projectId, slot]), 64);
    const door = createDoor({ log, metrics: createMetrics(), settings: { backlogEventsMax: 10, backlogBytesMax: 10 } });
    for (const projectId of [1, 2, 1]) {
      for (const lane of lanes) await door.accept({ lane, projectId, body: new Uint8Array(1), ...rest });
    }
    expect(seen).toEqual([1, 1, 2, 2, 1, 1].map((projectId) => [projectId, slotOf(projectId, 64)]));
  });

  it('counts bytes as received, also when the log moves the memory to another thread', async () => {
    const metrics = createMetrics();
    const log = logOf(async (_lane, { body }) => {
      (body.buffer as ArrayBuffer).transfer();
      return 1;
    });
    const door = createDoor({ log, metrics, settings: { backlogEventsMax: 10, backlogBytesMax: 10 } });
    const body = new Uint8Array(1234);
    await door.accept({ lane: 'historical', projectId: 1, body, ...rest });
    expect(body.byteLength).toBe(0);
    const text = await metrics.text();
    expect(text).toContain('received_bytes_total{component="capture",lane="historical"} 1234');
    expect(text).toContain('received_events_total{component="capture",lane="historical"} 7');
  });
});
