import type { KafkaBroker } from '../kafka-connection/access.ts';
import type { FetchAnswer } from '../kafka-connection/fetch-answer.ts';
import type { Lane } from '../eventlog.ts';

interface Place {
  readonly lane: Lane;
  readonly slot: number;
}

/** The broker to fetch a partition from, and the zone to send to it. */
export interface ReadSource {
  readonly broker: KafkaBroker;
  readonly rack: string;
}

/**
 * Chooses between the leader of a partition and a replica in the zone of this process. The leader decides: asked with a zone, it names a
 * replica instead of returning records (KIP-392).
 */
export interface ReadSources {
  /** Returns undefined if there is no leader at present. */
  of(place: Place): ReadSource | undefined;
  /** Returns whether the answer names a replica instead of having records, so that the request must be sent again. */
  follow(place: Place, answer: Pick<FetchAnswer, 'preferredReplica'>): boolean;
  /** Reads from the leader for a while, after a failure. Returns whether another broker was asked before. */
  avoid(place: Place): boolean;
}

interface Deps {
  readonly leaderOf: (lane: Lane, slot: number) => KafkaBroker | undefined;
  /** Returns a broker by its id. */
  readonly broker: (id: number) => KafkaBroker | undefined;
  /** ms of a monotonic clock. */
  readonly now?: () => number;
}

interface Choice {
  /** `undefined` means the leader, without asking it for a replica. */
  readonly replica: KafkaBroker | undefined;
  readonly until: number;
}

/** After this the leader is asked again, since another replica may be better by now. */
const followMs = 300_000;
const avoidMs = 30_000;

/** @param rack zone of this process; an empty string means that all is read from leaders */
export function createReadSources(
  rack: string,
  { leaderOf, broker, now = () => performance.now() }: Deps,
): ReadSources {
  const choices = new Map<string, Choice>();
  const nameOf = ({ lane, slot }: Place): string => `${lane}/${slot}`;
  const choiceOf = (place: Place): Choice | undefined => {
    const choice = choices.get(nameOf(place));
    return choice !== undefined && now() < choice.until ? choice : undefined;
  };
  return {
    of: (place) => {
      const choice = choiceOf(place);
      const from = choice?.replica ?? leaderOf(place.lane, place.slot);
      return from && { broker: from, rack: choice === undefined ? rack : '' };
    },
    follow: (place, { preferredReplica }) => {
      if (preferredReplica < 0) return false;
      const replica = broker(preferredReplica);
      choices.set(nameOf(place), { replica, until: now() + (replica === undefined ? avoidMs : followMs) });
      return true;
    },
    avoid: (place) => {
      const isReplica = choiceOf(place)?.replica !== undefined;
      if (isReplica) choices.set(nameOf(place), { replica: undefined, until: now() + avoidMs });
      return isReplica;
    },
  };
}
