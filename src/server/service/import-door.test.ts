import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { answerOver, callOver } from '../../base/calls.ts';
import { answersOfDoors, projectDoorOver } from './import-door.ts';

it('every way through the door of a project leads there from the other process, with its answer', async () => {
  const { port1, port2 } = new MessageChannel();
  const asked: unknown[] = [];
  answerOver(
    port2,
    answersOfDoors((owner) => ({
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
  const door = projectDoorOver(callOver(port1), owner);
  expect(await door.accept(new Uint8Array([1, 2]), 9)).toEqual({ kind: 'accepted' });
  expect(await door.admit(8)).toEqual({ kind: 'wait', reason: 'too fast', retryAfterMs: 5 });
  expect(await door.acceptFacts('persons', new Uint8Array([3]), 7)).toEqual({ kind: 'refused', reason: 'no' });
  expect(asked).toEqual([
    [owner, 'accept', [1, 2], 9],
    [owner, 'admit', 8],
    [owner, 'acceptFacts', 'persons', [3], 7],
  ]);
  port1.close();
});
