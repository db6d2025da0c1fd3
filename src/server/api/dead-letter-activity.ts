import type { DeadLetterReplayRecord } from '../../wire/contract/dead-letter-replays.ts';
import type { DeadLetterRecord } from '../../wire/contract/dead-letters.ts';
import { actorOf } from '../http/actor.ts';
import type { ApiRequest } from '../http/api-route.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange, type RecordedChange } from '../../stores/metadata/record-change.ts';

/** Item of what one request did to several dead letters: which ones stands in the entry. */
const severalLetters = 'several';

interface ReplayedLetter {
  readonly before: DeadLetterRecord;
  readonly after: DeadLetterRecord;
  readonly isCorrected: boolean;
}

/** One letter was sent through again. The log names its event and holds none of its properties. */
export async function recordReplayed(
  tx: Queries,
  request: ApiRequest,
  { before, after, isCorrected }: ReplayedLetter,
  now: number,
): Promise<void> {
  const activity = isCorrected ? 'corrected_and_replayed' : 'replayed';
  const name = after.event ?? after.reason;
  await record(tx, request, { itemId: after.id, name, activity, before: { ...before }, after: { ...after }, now });
}

interface DecidedLetters {
  readonly activity: 'replayed' | 'discarded';
  /** `ids` or `filter`, as they were asked for. */
  readonly choice: object;
  readonly count: number;
  readonly now: number;
}

/** One request replayed or discarded several; where it found none, nothing is written. */
export async function recordDecided(tx: Queries, request: ApiRequest, decided: DecidedLetters): Promise<void> {
  const { activity, choice, count, now } = decided;
  if (count === 0) return;
  const after = { ...choice, [activity]: count };
  await record(tx, request, { itemId: severalLetters, name: lettersText(count), activity, after, now });
}

interface SteeredReplay {
  readonly activity: 'replay_started' | 'replay_cancelled';
  /** Absent: it is new. */
  readonly before?: DeadLetterReplayRecord;
  readonly after: DeadLetterReplayRecord;
  readonly now: number;
}

/** A replay in the background was started or cancelled. */
export async function recordReplay(tx: Queries, request: ApiRequest, steered: SteeredReplay): Promise<void> {
  const { activity, before, after, now } = steered;
  const name = lettersText(after.matched);
  await record(tx, request, {
    itemId: after.id,
    name,
    activity,
    before: before && { ...before },
    after: { ...after },
    now,
  });
}

async function record(
  tx: Queries,
  request: ApiRequest,
  change: Omit<RecordedChange, 'projectId' | 'scope'>,
): Promise<void> {
  await recordChange(tx, actorOf(request), { ...change, projectId: request.project().id, scope: 'DeadLetter' });
}

function lettersText(count: number): string {
  return count === 1 ? '1 dead letter' : `${count} dead letters`;
}
