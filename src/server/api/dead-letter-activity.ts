import type { DeadLetterReplayRecord } from '../../wire/contract/dead-letter-replays.ts';
import type { DeadLetterRecord } from '../../wire/contract/dead-letters.ts';
import { actorOf } from '../http/actor.ts';
import type { ApiRequest } from '../http/api-route.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordChange, type RecordedChange } from '../../stores/metadata/record-change.ts';

/** Item id of an entry about several dead letters; the entry lists them. */
const severalLetters = 'several';

interface ReplayedLetter {
  readonly before: DeadLetterRecord;
  readonly after: DeadLetterRecord;
  readonly isCorrected: boolean;
}

/** Records the replay of one dead letter. The log contains the event's name and none of its properties. */
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
  /** `ids` or `filter`, as requested. */
  readonly choice: object;
  readonly count: number;
  readonly now: number;
}

/** Records that one request replayed or discarded several dead letters. Writes nothing if there were no matches. */
export async function recordDecided(tx: Queries, request: ApiRequest, decided: DecidedLetters): Promise<void> {
  const { activity, choice, count, now } = decided;
  if (count === 0) return;
  const after = { ...choice, [activity]: count };
  await record(tx, request, { itemId: severalLetters, name: lettersText(count), activity, after, now });
}

interface SteeredReplay {
  readonly activity: 'replay_started' | 'replay_cancelled';
  /** Absent for a new replay. */
  readonly before?: DeadLetterReplayRecord;
  readonly after: DeadLetterReplayRecord;
  readonly now: number;
}

/** Records that a background replay was started or cancelled. */
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
