/** What to do about a condition, the same in notifications and in what needs attention. */
export const advice = {
  config_failing: 'Events pass unchanged until it works: correct its settings or disable it.',
  schedule_failing: 'Correct the cause; the next run catches up on what was missed.',
  run_failed: 'Correct the cause, then resume the run: it continues where it stopped.',
  run_waiting: 'It resumes automatically when the cause is gone.',
  dead_letters: 'Check the reasons, then replay them, corrected if necessary, or discard them.',
  tracking_plan_violated: 'Check which rules are violated, then correct what sends the events, or the plan.',
  project_limited:
    'Send slower, or ask an admin to raise the limit. Senders that do not repeat refused requests lose events.',
  disk_low: 'Free space or move the data directory to a larger disk: events are refused once it is full.',
  /** For a full lane and for late events. */
  lag_high: 'Check what blocks the pipeline: the event store, a slow transformation or the disk.',
} as const;

/** `events` were refused within the present hour. */
export function limitedWords(events: number): string {
  return `The project is above one of its limits: ${events} ${events === 1 ? 'event was' : 'events were'} refused within this hour.`;
}
