export type DeadLetterState = 'open' | 'replayed' | 'discarded';

/** Events that could not be stored, and what is done about them. */
export interface DeadLetterTables {
  dead_letters: {
    /** Derived from lane, seq and index: writing it twice is writing it once. */
    id: string;
    project_id: number;
    lane: string;
    reason: string;
    detail: string;
    attr: string | null;
    event: string | null;
    distinct_id: string | null;
    event_uuid: string | null;
    /** The event's own bytes as received (JSON text, or what there was). */
    original: Uint8Array;
    received_at: string;
    state: DeadLetterState;
    decided_at: string | null;
    /** 1: the event has its row in the event store already, see RecordHeader. */
    rows_stored: number;
    /** The replay that has it in hand, or had; null: none. */
    replay_id: string | null;
  };
  /** Leased; see pipeline/dead-letter-replays.ts. */
  dead_letter_replays: {
    id: string;
    project_id: number;
    state: string;
    /** JSON: the choice as it was asked for. */
    choice: string;
    /** Dead letters that were open when it was asked for. */
    matched: number;
    /** JSON: ReplayFailures. */
    failures: string;
    /** Why it waits; empty: it does not. */
    error: string;
    attempts: number;
    lease_until: string | null;
    created_at: string;
    ended_at: string | null;
  };
}
