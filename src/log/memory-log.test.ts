import { describe, expect, it } from 'vitest';
import { describeEventLog, noLimits, record } from '../../test/conformance/event-log/event-log.ts';
import { createMemoryLog } from '../../test/support/memory-log.ts';

describeEventLog('memory', async () => ({ ...createMemoryLog(), dispose: async () => undefined }));

describe('faults of the memory log, for other tests', () => {
  it('damages a record', async () => {
    const { writer, reader, damage } = createMemoryLog();
    const seq = await writer.append('live', record('a'));
    damage('live', seq, 'flipped');
    expect(await reader.read('live', 0, noLimits)).toEqual([
      { seq, damaged: 'flipped', bytes: new TextEncoder().encode('a') },
    ]);
  });

  it('makes appends fail and work again', async () => {
    const { writer, reader, failAppends } = createMemoryLog();
    failAppends('disk full');
    await expect(writer.append('live', record('a'))).rejects.toMatchObject({
      name: 'LogUnavailableError',
      message: 'disk full',
    });
    expect(await reader.read('live', 0, noLimits)).toEqual([]);
    failAppends(undefined);
    await writer.append('live', record('b'));
    expect(writer.backlog('live').records).toBe(1);
  });
});
