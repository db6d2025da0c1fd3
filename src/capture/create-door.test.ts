import { describe, expect, it } from 'vitest';
import type { EventLogWriter } from '../eventlog/eventlog.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createDoor } from './create-door.ts';

describe('the door', () => {
  it('counts bytes as received, also when the log moves the memory to another thread', async () => {
    const metrics = createMetrics();
    const log: EventLogWriter = {
      append: async (_lane, { body }) => {
        (body.buffer as ArrayBuffer).transfer();
        return 1;
      },
      backlog: () => ({ records: 0, events: 0, bytes: 0 }),
      close: async () => {},
    };
    const door = createDoor({ log, metrics, settings: { backlogEventsMax: 10, backlogBytesMax: 10 } });
    const body = new Uint8Array(1234);
    const rest = { projectId: 1, encoding: 'identity', events: 7, receivedAt: 0, requestId: 'r' } as const;
    await door.accept({ lane: 'historical', body, ...rest });
    expect(body.byteLength).toBe(0);
    const text = await metrics.text();
    expect(text).toContain('received_bytes_total{component="capture",lane="historical"} 1234');
    expect(text).toContain('received_events_total{component="capture",lane="historical"} 7');
  });
});
