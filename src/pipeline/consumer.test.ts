import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scanLimits } from '../wire/batch/limits.ts';
import { scanBatch } from '../wire/batch/scan.ts';
import { ScanReceiver, ScanSender } from '../wire/batch/scan-relay.ts';
import { StoreUnavailableError } from '../stores/events/eventstore.ts';
import { tempMetadata } from '../../test/support/metadata.ts';
import { whileThere } from '../../test/support/slot-world.ts';
import type { PipelineDeps } from './consumer.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

const plain = (n: number, more: object = {}) => ({
  event: 'seen',
  distinct_id: `p${n}`,
  uuid: uuid(n),
  timestamp: new Date(receivedAt - 60_000 + n).toISOString(),
  properties: { n },
  ...more,
});

describe('from the log to the store', () => {
  it('an event becomes a row and a person', async () => {
    await bench.append('live', { batch: [plain(1)] });
    await bench.drain();
    expect(bench.recording.rows).toEqual([
      {
        projectId: bench.projectId,
        day: Math.floor(receivedAt / 86_400_000),
        uuid: uuid(1),
        micros: (receivedAt - 60_000 + 1) * 1000,
        receivedAtMicros: receivedAt * 1000,
        historical: false,
        event: 'seen',
        distinctId: 'p1',
        properties: '{"n":1}',
        importRun: '',
      },
    ]);
    expect(await bench.person('p1')).toMatchObject({ distinct_ids: ['p1'], properties: {}, is_identified: false });
  });

  it('a compressed body, both lanes, $ip for live events only', async () => {
    await bench.append('live', { batch: [plain(1)] }, { encoding: 'gzip', ip: '10.1.2.3' });
    await bench.append('historical', { batch: [plain(2)], historical_migration: true }, { ip: '10.1.2.3' });
    await bench.drain();
    expect(bench.recording.rows.map(({ historical, properties }) => [historical, properties])).toEqual([
      [false, '{"$ip":"10.1.2.3","n":1}'],
      [true, '{"n":2}'],
    ]);
  });

  it('a record with a scan forwarded by capture is stored like one that is read from the log', async () => {
    const sender = new ScanSender();
    const receiver = new ScanReceiver(sender.connect());
    const taken: boolean[] = [];
    const scans: PipelineDeps['scans'] = {
      take: (lane, seq) => {
        const scan = receiver.take(lane, seq);
        taken.push(scan !== undefined);
        return scan;
      },
    };
    await using forwarded = await createBench({ scans });
    const text = 'x'.repeat(200);
    for (const [n, isForwarded] of [true, false, true].entries()) {
      const batch = Array.from({ length: 100 }, (_, at) =>
        plain(n * 100 + at, { properties: { n, text, $set: { plan: 'paid' } } }),
      );
      for (const each of [bench, forwarded]) {
        const seq = await each.append('live', { batch }, { encoding: 'gzip', ip: '10.1.2.3' });
        const scan = scanBatch(Buffer.from(JSON.stringify({ batch })), scanLimits(1_000_000));
        if (each === forwarded && isForwarded) sender.send('live', seq, scan);
      }
    }
    for (const each of [bench, forwarded]) await each.drain();
    expect(taken).toEqual([true, false, true]);
    expect(forwarded.recording.rows).toEqual(bench.recording.rows);
    expect(forwarded.recording.rows).toHaveLength(300);
    expect(await forwarded.person('p7')).toEqual(await bench.person('p7'));
  });

  it('live events are stored first, then historical ones', async () => {
    for (let n = 0; n < 5; n++) await bench.append('historical', { batch: [plain(n)] });
    for (let n = 5; n < 8; n++) await bench.append('live', { batch: [plain(n)] });
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.historical)).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('a steady trickle of live events does not block historical ones', async () => {
    let n = 100;
    bench.setFailpoint((name) => {
      if (name === 'before_insert' && n < 130) void bench.append('live', { batch: [plain(n++)] });
    });
    for (let old = 0; old < 3; old++) await bench.append('historical', { batch: [plain(old)] });
    await bench.append('live', { batch: [plain(50)] });
    bench.start();
    await expect.poll(() => n).toBe(130);
    await bench.drain();
    expect(bench.recording.rows.slice(0, 4).map((row) => row.historical)).toEqual([false, true, true, true]);
    expect(bench.recording.rows).toHaveLength(34);
  });

  it('an invalid event becomes a dead letter with its bytes, and its neighbours are stored', async () => {
    const body = `{"batch":[${JSON.stringify(plain(1))}, {"event":"x" , "properties":{}} , 7, ${JSON.stringify(plain(2))}]}`;
    await bench.append('live', body);
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.uuid)).toEqual([uuid(1), uuid(2)]);
    const letters = await bench.deadLetters();
    expect(
      letters.map((row) => [row.reason, Buffer.from(row.original).toString(), row.event, row.state]).sort(),
    ).toEqual([
      ['invalid_event', '7', null, 'open'],
      ['missing_distinct_id', '{"event":"x" , "properties":{}}', 'x', 'open'],
    ]);
    expect(await bench.warnings()).toEqual([
      { project_id: bench.projectId, type: 'invalid_event', count: 1 },
      { project_id: bench.projectId, type: 'missing_distinct_id', count: 1 },
    ]);
  });

  it('a damaged record becomes one dead letter, and the others are stored', async () => {
    const seq = await bench.append('live', { batch: [plain(1)] });
    await bench.append('live', { batch: [plain(2)] });
    bench.log.damage('live', seq, 'checksum');
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.uuid)).toEqual([uuid(2)]);
    expect((await bench.deadLetters()).map((row) => [row.project_id, row.reason])).toEqual([[0, 'damaged_log_record']]);
  });

  it('a record of a newer format waits for a newer program: what is before it is stored, and nothing is skipped', async () => {
    await bench.append('live', { batch: [plain(1)] });
    const seq = await bench.append('live', { batch: [plain(2)] }, { format: 2 });
    await bench.append('live', { batch: [plain(3)] });
    await bench.append('historical', { batch: [plain(4)] });
    const pipeline = bench.start();
    await expect.poll(() => pipeline.status().failure).toMatch(`got format 2 at ${seq}: a newer version of Millrace`);
    await expect.poll(() => bench.recording.rows.map((row) => row.uuid).sort()).toEqual([uuid(1), uuid(4)]);
    expect(pipeline.status().stored.live).toBe(seq - 1);
    await pipeline.stop();
    expect(await bench.deadLetters()).toEqual([]);
  });

  it('events of a deleted project are counted and not stored', async () => {
    await bench.append('live', { batch: [plain(1), plain(2)] }, { projectId: 4711, events: 2 });
    await bench.append('live', { batch: [plain(3), { event: '' }] }, { events: 2 });
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.uuid)).toEqual([uuid(3)]);
    expect((await bench.deadLetters()).map((row) => row.reason)).toEqual(['missing_event_name']);
    expect((await bench.warnings()).map((row) => row.type)).toEqual(['missing_event_name']);
    await expect
      .poll(() => bench.metrics.text())
      .toMatch(/discarded_events_total\{[^}]*reason="project_not_found",intentional="false"\} 2/);
  });

  it('an unavailable store delays all events and loses none', async () => {
    bench.recording.refuseWhile(() => new StoreUnavailableError('down'));
    await bench.append('live', { batch: [plain(1)] });
    const pipeline = bench.start();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(pipeline.status()).toMatchObject({ stored: { live: 0 }, failure: 'StoreUnavailableError: down' });
    bench.recording.refuseWhile(undefined);
    await bench.drain();
    expect(bench.recording.rows).toHaveLength(1);
    expect(pipeline.status().failure).toBe('');
    expect(await bench.deadLetters()).toEqual([]);
  });

  it('an event that the store refuses does not block the others permanently', async () => {
    bench.recording.refuseWhile((rows) => {
      return rows.some((row) => row.distinctId === 'p7') ? new Error('code 27: cannot parse') : undefined;
    });
    for (const start of [0, 10]) {
      const batch = Array.from({ length: 10 }, (_, n) => plain(start + n, { properties: { $set: { n } } }));
      await bench.append('historical', { batch }, { events: 10 });
    }
    await bench.drain();
    expect(bench.recording.read().map((row) => row.distinctId)).not.toContain('p7');
    expect(bench.recording.read()).toHaveLength(19);
    const letters = await bench.deadLetters();
    expect(letters.map((row) => [row.reason, row.distinct_id])).toEqual([['processing_failed', 'p7']]);
    expect(await bench.person('p7')).toBeUndefined();
    expect((await bench.person('p8'))?.properties).toEqual({ n: 8 });
  });

  it('a range that is too large for the store is stored in halves without losing an event', async () => {
    bench.recording.refuseWhile((rows) => (rows.length > 5 ? new Error('code 241: memory limit exceeded') : undefined));
    for (let n = 0; n < 20; n++) await bench.append('historical', { batch: [plain(n)] });
    await bench.drain();
    expect(
      bench.recording
        .read()
        .map((row) => row.distinctId)
        .sort(),
    ).toEqual(Array.from({ length: 20 }, (_, n) => `p${n}`).sort());
    expect(await bench.deadLetters()).toEqual([]);
    expect((await bench.db.selectFrom('persons').selectAll().execute()).length).toBe(20);
    expect(await bench.db.selectFrom('log_cursors').selectAll().where('lane', '=', 'historical').execute()).toEqual([
      { slot: 0, lane: 'historical', seq: 20, pending: '[]' },
    ]);
  });

  it('a range keeps its end, however often the metadata store becomes unavailable within it', async () => {
    await using store = await tempMetadata();
    let isThere = true;
    await using own = await createBench({ db: whileThere(store.db, () => isThere), windowEventsMax: 6 });
    let times = 0;
    own.setFailpoint((name) => {
      if (name !== 'after_insert' || times === 5) return;
      times += 1;
      isThere = false;
      setTimeout(() => (isThere = true), 20);
    });
    for (let n = 0; n < 6; n += 1) await own.append('live', { batch: [plain(2 * n), plain(2 * n + 1)] }, { events: 2 });
    await own.drain();
    expect(times).toBe(5);
    expect(own.recording.read()).toHaveLength(12);
    expect(new Set(own.recording.inserts.map(({ token }) => token.replace(/^.*:live:/, '')))).toEqual(
      new Set(['0-3', '3-6']),
    );
  });

  it('a single request that is too large for the store is stored in parts, once, with its persons', async () => {
    bench.recording.refuseWhile((rows) => (rows.length > 3 ? new Error('code 241: memory limit exceeded') : undefined));
    let isCut = false;
    bench.setFailpoint((name) => {
      if (name !== 'after_insert' || isCut) return;
      isCut = true;
      throw new Error('interrupted');
    });
    const batch = Array.from({ length: 20 }, (_, n) => plain(n, { properties: { $set: { n } } }));
    await bench.append('historical', { batch: [...batch, { event: 'no id' }] }, { events: 21 });
    await bench.append('historical', { batch: [plain(20)] });
    await bench.drain();
    expect(isCut).toBe(true);
    const stored = bench.recording.read().map((row) => row.uuid);
    expect(stored.toSorted()).toEqual(Array.from({ length: 21 }, (_, n) => uuid(n)));
    expect((await bench.deadLetters()).map((row) => row.reason)).toEqual(['missing_distinct_id']);
    expect((await bench.warnings()).map(({ type, count }) => [type, count])).toEqual([['missing_distinct_id', 1]]);
    expect((await bench.person('p19'))?.properties).toEqual({ n: 19 });
  });

  it('events of a new log are not treated as repetitions of those of an older log in the same store', async () => {
    await bench.append('live', { batch: [plain(1)] });
    await bench.drain();
    await using later = await createBench({ recording: bench.recording });
    expect(later.projectId).toBe(bench.projectId);
    await later.append('live', { batch: [plain(2)] });
    await later.drain();
    expect(bench.recording.rows.map(({ distinctId }) => distinctId)).toEqual(['p1', 'p2']);
  });

  it('a store that refuses everything loses no event', async () => {
    bench.recording.refuseWhile(() => new Error('code 243: no space left'));
    await bench.append('live', { batch: [plain(1), plain(2)] }, { events: 2 });
    bench.start();
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect(await bench.deadLetters()).toEqual([]);
    bench.recording.refuseWhile(undefined);
    await bench.drain();
    expect(bench.recording.read()).toHaveLength(2);
    expect(await bench.deadLetters()).toEqual([]);
  });

  it('counts received, stored and discarded events', async () => {
    await bench.append('live', { batch: [plain(1), { event: '' }] });
    await bench.drain();
    await expect
      .poll(() => bench.metrics.text())
      .toContain('millrace_component_sent_events_total{component="pipeline",lane="live"} 1');
    const text = await bench.metrics.text();
    expect(text).toContain('millrace_component_received_events_total{component="pipeline",lane="live"} 2');
    expect(text).toMatch(/discarded_events_total\{[^}]*reason="missing_event_name",intentional="false"\} 1/);
    await expect.poll(() => bench.metrics.text()).toContain('millrace_source_lag_seconds{lane="live"} 0');
  });
});
