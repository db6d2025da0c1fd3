import { describe, expect, it } from 'vitest';
import type { PreflightResult } from '../../wire/contract/import-preflight.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { fieldWords, flagWords } from '../run/advice-words.ts';
import type { RunOptions } from '../run/run.ts';
import { SourceWaitError, type Source } from '../source.ts';
import type { Staging } from '../staging.ts';
import type { EndpointFacts, Target } from '../target.ts';
import { transformOf } from '../../../test/support/transform-double.ts';
import { TransformError, type Transform, type TransformOutcome } from '../transform.ts';
import { createPreflight, type CreatePreflightDeps } from './preflight.ts';

const lines = Buffer.from('{"event":"A","properties":{"time":1704067200,"distinct_id":"u","$insert_id":"1"}}\n');

const source: Source = {
  concurrency: 1,
  listParts: async () => [{ key: 'a', stable: true, bytes: lines.length }],
  async *open() {
    yield { lines, count: 1, bytesRead: lines.length };
  },
};

const staging: Staging = {
  description: 'the directory x',
  write: async () => ({ bytes: 2, sha256: '' }),
  async *read() {
    yield Buffer.alloc(0);
  },
  list: async () => [],
  remove: async () => undefined,
};

/** For tests with something that hangs. */
const timeLimitMs = 100;
const hangs = (): Promise<never> => new Promise(() => undefined);

function targetOf(endpoint: () => Promise<EndpointFacts>): Target {
  return {
    description: 'x',
    deliver: hangs,
    settled: hangs,
    reader: undefined,
    probe: { endpoint, projectKey: async () => ({ kind: 'known' }), reader: async () => ({ kind: 'reads' }) },
  };
}

function runPreflight(changed: Partial<CreatePreflightDeps>, more: Partial<RunOptions> = {}): Promise<PreflightResult> {
  const preflight = createPreflight({
    clock: { now: () => Date.parse('2024-06-01T00:00:00Z') },
    staging,
    quota: { room: async () => ({ shortage: undefined, bytes: undefined }) },
    words: flagWords,
    openSource: async () => source,
    openTarget: async () => targetOf(async () => ({ kind: 'takes_batches' })),
    timeLimitMs: 30_000,
    ...changed,
  });
  const target = { kind: 'http', url: 'https://a.example' } as const;
  const options = { ...runOptions, format: 'mixpanel', target, ...more };
  return preflight({ options, signal: new AbortController().signal });
}

const codesOf = ({ findings }: PreflightResult): string[] => findings.map(({ check, code }) => `${check} ${code}`);

describe('the preflight of an import', () => {
  it('reports that everything is fine', async () => {
    const result = await runPreflight({});
    expect(result.verdict).toBe('passed');
    expect(new Set(result.findings.map(({ level }) => level))).toEqual(new Set(['fine']));
    expect(codesOf(result)).toContain('source fine');
  });

  it('warns with the number of events, or the date, that the retention of the project would remove', async () => {
    const retention = async (since: string | null, more: Partial<RunOptions> = {}) => {
      const limit = since === null ? null : Date.parse(since);
      const expiredBefore = async () => (event: string) => (event === 'kept' ? null : limit);
      const { verdict, findings } = await runPreflight({ expiredBefore }, more);
      return [verdict, findings.find(({ check }) => check === 'retention')] as const;
    };
    // The event of the source is of 2024-01-01.
    expect(await retention('2024-01-02')).toEqual([
      'passed',
      expect.objectContaining({
        code: 'beyond_retention',
        message: expect.stringContaining(
          '1 of the first 1 event is older than the project keeps historical events (A from 2024-01-02 on)',
        ),
        advice: expect.stringContaining('retention'),
      }),
    ]);
    expect(await retention('2024-01-01')).toEqual(['passed', expect.objectContaining({ code: 'fine' })]);
    expect(await retention(null)).toEqual(['passed', expect.objectContaining({ code: 'fine' })]);
    const range = { range: { from: '2023-06-01' } };
    expect(await retention('2024-01-01', range)).toEqual([
      'passed',
      expect.objectContaining({
        code: 'beyond_retention',
        message: expect.stringContaining(
          'begins on 2023-06-01, and the project keeps historical events from 2024-01-01 on',
        ),
      }),
    ]);
    expect(await retention('2024-01-02', { last: 'check' })).toEqual(['passed', undefined]);
  });

  it('ends in time with a target that never responds, and still checks the source', async () => {
    const result = await runPreflight({ openTarget: async () => targetOf(hangs), timeLimitMs });
    expect(result.verdict).toBe('failed');
    expect(result.findings[0]).toMatchObject({
      check: 'target',
      code: 'target_unreachable',
      advice: expect.any(String),
    });
    expect(codesOf(result)).toContain('source fine');
  });

  it('fails for a source without any record, but not if later parts may have some', async () => {
    const empty = (parts: number): Source => ({
      ...source,
      listParts: async () => Array.from({ length: parts }, (_, n) => ({ key: `a${n}`, stable: true, bytes: 0 })),
      async *open(part, { foreign }) {
        foreign?.leftOut(part.key, 'no records of this format');
        yield { lines: Buffer.alloc(0), count: 0, bytesRead: 0 };
      },
    });
    const found = async (parts: number, more: Partial<RunOptions> = {}) => {
      const { verdict, findings } = await runPreflight({ openSource: async () => empty(parts) }, more);
      return [verdict, findings.find(({ check }) => check === 'source')];
    };
    const expected = { code: 'source_empty', advice: expect.stringContaining('records of the format mixpanel') };
    expect(await found(1)).toEqual(['failed', expect.objectContaining({ ...expected, level: 'problem' })]);
    expect(await found(4)).toEqual(['passed', expect.objectContaining({ ...expected, level: 'warning' })]);
    expect(await found(1, { scheduled: true })).toEqual(['passed', expect.objectContaining({ level: 'warning' })]);
  });

  it('a file whose only record is invalid says nothing about the following files', async () => {
    const bad = Buffer.from('{"event":"A","properties":{"time":1704067200}}\n');
    const files: Readonly<Record<string, Buffer>> = { 'hour-00': bad, 'hour-01': lines };
    const sourceOf = (keys: readonly string[]): Source => ({
      concurrency: 1,
      listParts: async () => keys.map((key) => ({ key, stable: true, bytes: 100 })),
      async *open({ key }) {
        yield { lines: files[key] ?? bad, count: 1, bytesRead: 100 };
      },
    });
    const behind = await runPreflight({ openSource: async () => sourceOf(['hour-00', 'hour-01']) });
    expect(behind.verdict).toBe('passed');
    const none = await runPreflight({ openSource: async () => sourceOf(['hour-00', 'hour-02']) });
    expect([none.verdict, codesOf(none)]).toEqual(['failed', expect.arrayContaining(['source format_unfit'])]);
    expect(none.findings[0]?.message).toContain('hour-00');
  });

  it('fails for a source whose only records are its error messages', async () => {
    const failed = Buffer.from('{"error":"Unable to authenticate request","status":0}\n');
    const files: Readonly<Record<string, Buffer>> = { 'hour-00': failed, 'hour-01': lines };
    const sourceOf = (keys: readonly string[]): Source => ({
      concurrency: 1,
      listParts: async () => keys.map((key) => ({ key, stable: true, bytes: 100 })),
      async *open({ key }) {
        yield { lines: files[key] ?? failed, count: 1, bytesRead: 100 };
      },
    });
    const alone = await runPreflight({ openSource: async () => sourceOf(['hour-00']) });
    expect(alone.verdict).toBe('failed');
    expect(alone.findings[0]?.message).toBe('Expected records, found only error messages of the source');
    expect(alone.findings[1]?.message).toContain('"Unable to authenticate request"');
    const one = await runPreflight({ openSource: async () => sourceOf(['hour-00', 'hour-01']) });
    expect([one.verdict, codesOf(one)]).toEqual(['passed', expect.arrayContaining(['source source_incomplete'])]);
  });

  it('does not fail for a slow or busy source: the export waits for it', async () => {
    const slow = await runPreflight({ openSource: hangs, timeLimitMs });
    expect([slow.verdict, codesOf(slow)]).toEqual(['passed', expect.arrayContaining(['source source_slow'])]);
    const busy = { ...source, listParts: () => Promise.reject(new SourceWaitError('429', { unlimited: true })) };
    const result = await runPreflight({ openSource: async () => busy });
    expect([result.verdict, codesOf(result)]).toEqual(['passed', expect.arrayContaining(['source source_busy'])]);
  });

  it('does not fail for slow staging: the disk may be busy', async () => {
    const { verdict, findings } = await runPreflight({ staging: { ...staging, write: hangs }, timeLimitMs });
    expect(verdict).toBe('passed');
    expect(findings[0]).toMatchObject({ check: 'staging', level: 'warning', code: 'staging_unwritable' });
  });

  const gib = 1024 ** 3;
  const sized = {
    openSource: async () => ({ ...source, listParts: async () => [{ key: 'a', stable: true, bytes: 10 * gib }] }),
  };

  it.each([
    [0.9, false, 'problem'],
    [9, false, 'warning'],
    [11, false, 'fine'],
    [1.9, true, 'problem'],
    [29, true, 'warning'],
    [31, true, 'fine'],
  ])(
    'a source of 10 GiB with room for %d GiB in staging, tables on its disk: %s, is: %s',
    async (room, beside, level) => {
      const { findings } = await runPreflight({
        ...sized,
        quota: { room: async () => ({ shortage: undefined, bytes: room * gib }) },
        tablesBesideStaging: async () => beside,
      });
      expect(findings.find(({ check }) => check === 'staging')).toMatchObject({ level });
    },
  );

  it.each([
    [{ free: 0.1, kind: 'http' }, 'problem'],
    [{ free: 19, kind: 'http' }, 'warning'],
    [{ free: 21, kind: 'http' }, 'fine'],
    // Its events are stored too.
    [{ free: 49, kind: 'project' }, 'warning'],
    [{ free: 51, kind: 'project' }, 'fine'],
    [{ free: 21, kind: 'project', last: 'check' }, 'fine'],
  ] as const)('for a source of 10 GiB, a store with %o is: %s', async (of, level) => {
    const target = of.kind === 'http' ? ({ kind: 'http', url: 'https://a.example' } as const) : { kind: of.kind };
    const last = 'last' in of ? of.last : 'report';
    const { findings } = await runPreflight({ ...sized, storeFreeBytes: async () => of.free * gib }, { target, last });
    expect(findings.find(({ check }) => check === 'store')).toMatchObject({ level });
  });

  it.each([
    [59_000, 'fine'],
    [-100_000, 'warning'],
    [3_600_000, 'problem'],
  ])('a clock that is %i ms off is %s', async (skewMs, level) => {
    const result = await runPreflight({
      openTarget: async () => targetOf(async () => ({ kind: 'takes_batches', skewMs })),
    });
    expect(result.findings.find(({ check }) => check === 'clock')?.level).toBe(level);
  });

  it('warns of a source that reports that it is incomplete, with what is missing', async () => {
    const cut = Buffer.concat([lines, Buffer.from('export terminated early\n')]);
    async function* open() {
      yield await Promise.resolve({ lines: cut, count: 2, bytesRead: cut.length });
    }
    const result = await runPreflight({ openSource: async () => ({ ...source, open }) });
    expect([result.verdict, codesOf(result)]).toEqual(['passed', expect.arrayContaining(['source source_incomplete'])]);
    const found = result.findings.find(({ code }) => code === 'source_incomplete');
    expect(found).toMatchObject({ level: 'warning', message: expect.stringContaining('terminated early') });
  });

  it('advice names flags on the command line, and fields in the API', async () => {
    const away = { openTarget: async () => targetOf(async () => ({ kind: 'unreachable', fault: 'x' })) } as const;
    expect((await runPreflight(away)).findings[0]?.advice).toContain('--to');
    expect((await runPreflight({ ...away, words: fieldWords })).findings[0]?.advice).toContain('target_url');
  });

  it('turns an error in a check into a warning of that check, without affecting others', async () => {
    const result = await runPreflight({ quota: { room: () => Promise.reject(new Error('unexpected')) } });
    expect(codesOf(result)).toEqual(expect.arrayContaining(['staging check_failed', 'source fine']));
  });
});

const codeOf = (create: () => (event: WireEvent) => TransformOutcome, refused: readonly string[] = []): Transform =>
  transformOf(create, { refused: new Set(refused) });

describe('the check of a transform before an import', () => {
  const kept = (event: WireEvent): TransformOutcome => ({ kind: 'kept', event });
  const failed: TransformOutcome = { kind: 'failed', code: 'transform_failed', reason: 'Error: no price' };
  let count = 0;
  const cases: [what: string, transform: Transform, found: object][] = [
    ['takes the events', codeOf(() => kept), { level: 'fine', message: expect.stringContaining('first 2 events') }],
    ['drops all of them', codeOf(() => () => ({ kind: 'dropped' })), { level: 'warning', code: 'transform_drops' }],
    ['throws at all of them', codeOf(() => () => failed), { level: 'problem', code: 'transform_rejects' }],
    [
      'throws at one',
      codeOf(() => (event) => (event.event === 'A' ? failed : kept(event))),
      {
        level: 'warning',
        message: expect.stringMatching(/^1 of the first 2 events fails: the transform ".*": .*Error: no price/),
      },
    ],
    ['asks for storage', codeOf(() => kept, ['storage.set']), { level: 'problem', code: 'transform_refused' }],
    [
      'writes other properties every time',
      codeOf(() => (event) => kept({ ...event, properties: { n: (count += 1) } })),
      { level: 'warning', code: 'transform_unsteady' },
    ],
    [
      'writes other times every time',
      codeOf(() => (event) => kept({ ...event, timestamp: `2024-01-01T00:00:${(count += 1)}Z` })),
      { level: 'problem', code: 'transform_unsteady' },
    ],
    [
      'cannot be set up',
      { ...codeOf(() => kept), open: () => Promise.reject(new TransformError('no table')) },
      { level: 'problem', code: 'transform_failed', message: 'No table' },
    ],
    ['never ends', { ...codeOf(() => kept), open: hangs }, { level: 'warning', code: 'transform_slow' }],
  ];

  it.each(cases)('reports that the code %s', async (_what, transform, found) => {
    const two = Buffer.from(lines.toString() + lines.toString().replace('"A"', '"B"'));
    const of: Source = {
      ...source,
      async *open() {
        yield { lines: two, count: 2, bytesRead: two.length };
      },
    };
    const { findings } = await runPreflight(
      {
        openSource: async () => of,
        openTransform: async () => transform,
        ...(transform.open === hangs && { timeLimitMs }),
      },
      { transform: { name: 'T', hash: 'h' } },
    );
    expect(findings.filter(({ check }) => check === 'transform')).toEqual([expect.objectContaining(found)]);
  });
});
