import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { answerOver, callOver } from '../../base/calls.ts';
import { ingestAnswers, projectIngestOver } from './import-ingest.ts';

it('every ingest call of a project reaches the main thread from the other process, and returns its answer', async () => {
  const { port1, port2 } = new MessageChannel();
  const asked: unknown[] = [];
  answerOver(
    port2,
    ingestAnswers((owner) => ({
      accept: async (body, events) => {
        asked.push([owner, 'accept', [...body], events]);
        return { kind: 'accepted' };
      },
      admit: async (events) => {
        asked.push([owner, 'admit', events]);
        return { kind: 'wait', reason: 'too fast', retryAfterMs: 5 };
      },
      acceptFacts: async (of, body, facts) => {
        asked.push([owner, 'acceptFacts', of, [...body], facts]);
        return { kind: 'refused', reason: 'no' };
      },
    })),
  );
  const owner = { projectId: 3, runId: 'run-1' };
  const ingest = projectIngestOver(callOver(port1), owner);
  expect(await ingest.accept(new Uint8Array([1, 2]), 9)).toEqual({ kind: 'accepted' });
  expect(await ingest.admit(8)).toEqual({ kind: 'wait', reason: 'too fast', retryAfterMs: 5 });
  expect(await ingest.acceptFacts('persons', new Uint8Array([3]), 7)).toEqual({ kind: 'refused', reason: 'no' });
  expect(asked).toEqual([
    [owner, 'accept', [1, 2], 9],
    [owner, 'admit', 8],
    [owner, 'acceptFacts', 'persons', [3], 7],
  ]);
  port1.close();
});
