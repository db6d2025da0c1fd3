import { describe, expect, it } from 'vitest';
import { runOptions } from '../../../test/support/runs.ts';
import { readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { SourceError, type RecordChunk, type Source } from '../source.ts';
import { previewSource } from './preview-source.ts';

const lines = [1, '"x"', 9007199254740993n].map(
  (n, id) => `{"id":"r${id}","event":"bought","user":"u","at":"2024-01-01T00:00:00Z","n":${n}}`,
);

const source: Source = {
  concurrency: 1,
  listParts: async () => [{ key: 'file', stable: true }],
  async *open(): AsyncGenerator<RecordChunk> {
    yield { lines: Buffer.from(lines.map((line) => `${line}\n`).join('')), count: lines.length, bytesRead: 1 };
  },
};

const never = async (): Promise<never> => {
  throw new SourceError('not used');
};

async function preview(policy: 'warn' | 'drop' | 'dead_letter') {
  const schema = { properties: { n: { type: 'integer', maximum: 9007199254740992 } } };
  const plan = JSON.stringify(readPlan({ events: [{ name: 'bought', policy, schema }] }));
  const { records } = await previewSource(
    {
      source,
      openTable: never,
      openTransform: never,
      plan: { version: 1, plan },
      keptOut: undefined,
      eventBytesMax: 1_000_000,
      now: () => Date.UTC(2026, 10, 28),
    },
    {
      ...runOptions,
      format: 'mapping',
      formatOptions: {
        mapping: JSON.stringify({ event: 'event', distinct_id: 'user', timestamp: 'at', uuid: 'id' }),
      },
    },
    { records: 10, signal: new AbortController().signal },
  );
  return records.flatMap(({ events }) =>
    events.map(({ event, violations, refused }) => [event !== null, violations, refused?.code ?? null]),
  );
}

const type = ['n: expected integer, got: "x"'];
const maximum = ['n: expected a number of at most 9007199254740992, got: 9007199254740993'];

describe('the preview of an import into a project with a tracking plan', () => {
  it.each([
    ['warn', true, null],
    ['drop', false, null],
    ['dead_letter', true, 'event_refused_by_tracking_plan'],
  ] as const)('shows violations with policy %s, and what happens to the events', async (policy, isShown, code) => {
    expect(await preview(policy)).toEqual([
      [true, [], null],
      [isShown, type, code],
      [isShown, maximum, code],
    ]);
  });
});
