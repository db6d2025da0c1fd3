import { randomBytes } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { RunFailedError, RunLostError } from '../../run/leased-run.ts';
import { readSegment } from '../check/segment/read-segment.ts';
import { pauseRun } from '../../run/run-transitions.ts';
import { SourceError, SourceWaitError } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import { createDiskQuota } from './disk-quota.ts';
import { exportStage, exportTest, fakeSource, numbered, type FakePart } from '../../../../test/support/export-stage.ts';

const limited = new SourceWaitError('the source answers 429', { unlimited: true, retryAfterMs: 90_000 });

describe('the export stage', () => {
  it('stages every line unchanged, in segments, with counts and hashes', async () => {
    await using test = await exportTest();
    const edge = ['{"é":1}', '', 'no json', '{"x":"\\n"}'];
    const parts: FakePart[] = [
      { key: 'a', lines: numbered(250), bytes: 250 },
      { key: 'b', lines: edge, bytes: 4 },
      { key: 'empty', lines: [], bytes: 0 },
    ];
    await test.run(fakeSource(() => parts));
    expect(await test.staged()).toEqual({ a: numbered(250), b: edge, empty: [] });
    const stored = await (await test.hold()).parts();
    expect(stored.map((part) => part.segments.map(({ records }) => records))).toEqual([[100, 100, 50], [4], []]);
    expect(stored.every(({ complete }) => complete)).toBe(true);
    const files = await test.staging.list('r/parts/');
    const segments = stored.flatMap((part) => part.segments);
    expect(files.map(({ bytes }) => bytes)).toEqual(segments.map(({ bytes }) => bytes));
    const { progress, totals } = await test.record();
    // A blank line is staged, but is not a record.
    expect(progress.export).toMatchObject({ partsDone: 3, partsTotal: 3, done: 253, bytes: 254, bytesTotal: 254 });
    expect(progress.export?.finishedAt).toBeDefined();
    expect(totals).toMatchObject({ records: 253, rejected: 0 });
  });

  it('a segment also ends at its maximum size, and a longer line is not lost', async () => {
    await using test = await exportTest();
    const lines = ['x'.repeat(50), 'y'.repeat(500), 'z', 'z', 'w'.repeat(80), 'v'.repeat(80)];
    await test.run(
      fakeSource(() => [{ key: 'a', lines }]),
      { limits: { records: 100, rawBytes: 120 } },
    );
    const [part] = await (await test.hold()).parts();
    expect(part?.segments.map(({ records }) => records)).toEqual([2, 4]);
    expect((await test.staged()).a).toEqual(lines);
  });

  it('killed after any write or commit and resumed: nothing is missing, nothing is duplicated', async () => {
    const parts: FakePart[] = [
      { key: 'stable', lines: numbered(250) },
      { key: 'moving', lines: numbered(250, 'm'), stable: false },
    ];
    for (const point of ['import_segment_written', 'import_segment_committed']) {
      for (let nth = 1; nth <= 6; nth += 1) {
        await using test = await exportTest();
        let left = nth;
        const failpoint = (name: string): void => {
          if (name === point && --left === 0) throw new Error('killed');
        };
        await expect(
          test.run(
            fakeSource(() => parts),
            { failpoint },
          ),
        ).rejects.toThrow('killed');
        // The second time the other part has another order of lines.
        const again = [parts[0], { ...parts[1], lines: numbered(250, 'm').toReversed() }] as FakePart[];
        await test.run(fakeSource(() => again, { chunkLines: 7 }));
        const staged = await test.staged();
        expect(staged.stable).toEqual(numbered(250));
        expect(staged.moving?.toSorted()).toEqual(numbered(250, 'm').toSorted());
        expect((await test.record()).totals.records).toBe(500);
      }
    }
  });

  it('a source that breaks repeatedly is still read completely, and earlier records count', async () => {
    await using test = await exportTest();
    const waits: number[] = [];
    let last = 0;
    const source = fakeSource(() => [{ key: 'a', lines: numbered(400) }], {
      chunkLines: 20,
      onChunk: async (_key, at) => {
        if (at <= last) return undefined;
        last = at;
        throw new SourceWaitError('the connection broke', { unlimited: true });
      },
    });
    await test.run(source, { sleep: async (ms) => void waits.push(ms) });
    expect((await test.staged()).a).toEqual(numbered(400));
    expect(waits).toHaveLength(19);
    // Each attempt made progress: the pauses do not grow.
    expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
  });

  it('waits as long as the source requests, and shows it; without limit', async () => {
    await using test = await exportTest();
    const leased = await test.hold();
    let left = 12;
    const source = fakeSource(() => [{ key: 'a', lines: numbered(1) }], {
      onChunk: async () => {
        if (--left >= 0) throw limited;
        return undefined;
      },
    });
    const waits: number[] = [];
    const reasons: (string | undefined)[] = [];
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      await leased.flush();
      reasons.push((await test.record()).waiting?.reason);
    };
    const clock = { now: () => 0 };
    await exportStage(test.staging, source, { sleep, clock })(leased);
    expect(waits).toEqual(Array(12).fill(90_000));
    expect(reasons[0]).toMatch(/^the source answers 429; trying again at \d\d:\d\d:\d\d UTC$/);
    expect((await test.record()).waiting).toBeNull();
  });

  it('a response that stays broken fails the run after five attempts, with what is broken', async () => {
    await using test = await exportTest();
    const source = fakeSource(() => [{ key: 'a', lines: numbered(1) }], {
      onChunk: async () => {
        throw new SourceWaitError('the gzip ends too soon', { unlimited: false });
      },
    });
    const run = test.run(source);
    await expect(run).rejects.toThrow(RunFailedError);
    await expect(run).rejects.toThrow('the gzip ends too soon (5 times in a row)');
    expect(source.opened).toHaveLength(5);
  });

  it('an error that waiting does not cure stops every part immediately', async () => {
    await using test = await exportTest();
    const parts = [1, 2, 3, 4].map((n) => ({ key: `p${n}`, lines: numbered(1000) }));
    const source = fakeSource(() => parts, {
      onChunk: async (key, at) => {
        if (key === 'p2' && at === 30) throw new SourceError('wrong credentials');
        return undefined;
      },
    });
    await expect(test.run(source)).rejects.toThrow('wrong credentials');
    expect(source.opened).not.toContain('p4');
  });

  it('a pause ends the stage, and nothing is written after it', async () => {
    await using test = await exportTest();
    const stop = new AbortController();
    const leased = await test.hold(stop.signal);
    const source = fakeSource(() => [{ key: 'a', lines: numbered(1000) }], {
      onChunk: async (_key, at) => {
        if (at === 150) await pauseRun(test.db, 'r');
        return undefined;
      },
    });
    await expect(exportStage(test.staging, source)(leased)).rejects.toThrow(RunLostError);
    const [part] = await leased.parts();
    expect(part?.segments).toHaveLength(1);
  });

  it('a part whose content changed after it was staged is staged from scratch', async () => {
    await using test = await exportTest();
    await test.run(
      fakeSource(() => [
        { key: 'a', identity: 'v1', lines: numbered(250) },
        { key: 'b', lines: ['1'] },
      ]),
    );
    const changed = [
      { key: 'a', identity: 'v2', lines: numbered(120, 'new') },
      { key: 'b', lines: ['2'] },
      { key: 'c', lines: ['3'] },
    ];
    const source = fakeSource(() => changed);
    await test.run(source);
    expect(await test.staged()).toEqual({ a: numbered(120, 'new'), b: ['1'], c: ['3'] });
    expect(source.opened.toSorted()).toEqual(['a', 'c']);
    expect(await test.staging.list('r/parts/000001/')).toHaveLength(2);
    expect((await test.record()).totals.records).toBe(122);
  });

  it('a part that is missing or shorter when it is resumed fails the run, never ends it early', async () => {
    for (const lines of [undefined, numbered(99)]) {
      await using test = await exportTest();
      const failpoint = (name: string): void => {
        if (name === 'import_segment_committed') throw new Error('killed');
      };
      await expect(
        test.run(
          fakeSource(() => [{ key: 'a', lines: numbered(150) }]),
          { failpoint },
        ),
      ).rejects.toThrow('killed');
      const run = test.run(fakeSource(() => (lines === undefined ? [] : [{ key: 'a', lines }])));
      await expect(run).rejects.toThrow(RunFailedError);
      await expect(run).rejects.toThrow(/expected .*a/);
    }
  });

  it('pieces that are not records are stored as rejected records, once, also over a crash', async () => {
    await using test = await exportTest();
    const parts = [{ key: 'a', lines: numbered(300) }];
    const onChunk = async (_key: string, at: number) => (at % 90 === 0 ? `a missing quote at ${at}` : undefined);
    const failpoint = (name: string): void => {
      if (name === 'import_segment_committed') throw new Error('killed');
    };
    await expect(
      test.run(
        fakeSource(() => parts, { onChunk }),
        { failpoint },
      ),
    ).rejects.toThrow('killed');
    await test.run(fakeSource(() => parts, { onChunk }));
    const files = await test.staging.list('r/rejected/');
    expect(files.map(({ key }) => key)).toEqual(['r/rejected/export-000001-000000.ndjson.zst']);
    const lines = zstdDecompressSync(await whole(test.staging, files[0]?.key ?? ''))
      .toString()
      .trim()
      .split('\n');
    const places = lines.map((line) => JSON.parse(line) as object);
    expect(places).toMatchObject([0, 90, 180, 270].map((at) => ({ part: 'a', place: `row ${at}`, stage: 'export' })));
    expect((await (await test.hold()).parts())[0]?.faults).toBe(4);
    expect((await test.record()).totals).toMatchObject({ records: 304, rejected: 4 });
  });

  it('a trial takes its limit of records from the first parts and opens no other, also over a crash', async () => {
    await using test = await exportTest({ limit: 130 });
    const parts = [1, 2, 3].map((n) => ({ key: `p${n}`, lines: numbered(80, `p${n}`) }));
    const failpoint = (name: string): void => {
      if (name === 'import_segment_written') throw new Error('killed');
    };
    await expect(
      test.run(
        fakeSource(() => parts),
        { failpoint },
      ),
    ).rejects.toThrow('killed');
    const source = fakeSource(() => parts);
    await test.run(source);
    expect(await test.staged()).toEqual({ p1: numbered(80, 'p1'), p2: numbered(50, 'p2') });
    expect(source.opened).toEqual(['p1', 'p2']);
    const parted = await (await test.hold()).parts();
    expect(parted.every(({ complete }) => complete)).toBe(true);
  });

  it('waits with the reason while staging exceeds its budget, and continues automatically', async () => {
    await using test = await exportTest();
    const leased = await test.hold();
    const { staging } = test;
    await staging.write('other/parts/1', [Buffer.alloc(2_000_000)]);
    const reasons: (string | undefined)[] = [];
    const sleep = async (): Promise<void> => {
      await leased.flush();
      reasons.push((await test.record()).waiting?.reason);
      if (reasons.length === 3) await staging.remove('other/');
    };
    const quota = createDiskQuota({ staging, budgetBytes: 1_000_000, freeBytes: async () => 1e12, sleep });
    const source = fakeSource(() => [{ key: 'a', lines: numbered(5) }]);
    await exportStage(staging, source, { quota })(leased);
    expect(reasons).toHaveLength(3);
    expect(reasons[0]).toMatch(/holds 2 MiB of the 1 MiB allowed/);
    expect((await test.staged()).a).toEqual(numbered(5));
  });

  it('keeps some of the disk free', async () => {
    await using test = await exportTest();
    let free = 10;
    const waits: { reason: string }[] = [];
    const leased = {
      signal: new AbortController().signal,
      waiting: (wait: { reason: string } | null) => void (wait && waits.push(wait)),
    };
    const sleep = async (): Promise<void> => void (free *= 1000);
    const deps = { staging: test.staging, budgetBytes: 0, reserveBytes: 5_000_000, sleep };
    await createDiskQuota({ ...deps, freeBytes: async () => free }).wait(leased);
    expect(waits).toHaveLength(2);
    expect(waits[0]?.reason).toContain('stay free');
  });

  it('a staged file that was changed or removed is not read', async () => {
    await using test = await exportTest();
    await test.run(fakeSource(() => [{ key: 'a', lines: numbered(5) }]));
    const [part] = await (await test.hold()).parts();
    if (part === undefined) throw new Error('expected a part');
    await appendFile(join(test.dir, 'r/parts/000001/000000.ndjson.zst'), 'x');
    await expect(readSegment(test.staging, 'r', part, 0)).rejects.toThrow('as it was staged');
    await test.staging.remove('r/parts/');
    await expect(readSegment(test.staging, 'r', part, 0)).rejects.toThrow(RunFailedError);
  });

  it('staging that is not writable fails with its own error and leaves no segment behind', async () => {
    await using test = await exportTest();
    const staging: Staging = {
      ...test.staging,
      write: async (_key, chunks) => {
        for await (const chunk of chunks) if (chunk.length > 0) break;
        throw new Error('no space left on device');
      },
    };
    const leased = await test.hold();
    const source = fakeSource(() => [{ key: 'a', lines: numbered(5000) }]);
    await expect(exportStage(staging, source)(leased)).rejects.toThrow('no space left on device');
    expect((await leased.parts())[0]?.segments).toEqual([]);
  });

  it('staging that breaks under load fails with its own error', async () => {
    await using test = await exportTest();
    const staging: Staging = {
      ...test.staging,
      write: async (_key, chunks) => {
        for await (const chunk of chunks) await stop(chunk);
        return { bytes: 0, sha256: '' };
      },
    };
    const stop = async (chunk: Uint8Array): Promise<void> => {
      // In the meantime everything before it fills up.
      await new Promise((done) => setTimeout(done, 300));
      throw new Error(`no space left on device after ${chunk.length} bytes`);
    };
    const lines = Array.from({ length: 1000 }, () => JSON.stringify(randomBytes(6000).toString('base64')));
    const stage = exportStage(
      staging,
      fakeSource(() => [{ key: 'a', lines }]),
    );
    await expect(stage(await test.hold())).rejects.toThrow('no space left on device');
  });
});

async function whole(staging: Staging, key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
