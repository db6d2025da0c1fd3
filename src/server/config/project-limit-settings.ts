/** Defaults of the limits of projects: docs/guides/project-limits.md. */
const limit = { type: 'integer', default: 0, min: 0, max: 1_000_000_000_000 } as const;

export const projectLimitSettings = {
  projectEventsPerSecond: {
    ...limit,
    env: 'MILLRACE_PROJECT_EVENTS_PER_SECOND',
    help: 'Events per second that a project may send to each lane, above which capture returns 429, unless the project has its own limit; 0 for no limit.',
  },
  projectBytesPerSecond: {
    ...limit,
    env: 'MILLRACE_PROJECT_BYTES_PER_SECOND',
    help: 'Body bytes per second, as received, that a project may send to each lane, above which capture returns 429, unless the project has its own limit; 0 for no limit.',
  },
  projectBacklogBytes: {
    ...limit,
    env: 'MILLRACE_PROJECT_BACKLOG_BYTES',
    help: 'Body bytes of a project that may wait per lane, above which capture returns 503, unless the project has its own limit; 0 for no limit but four times the remaining capacity.',
  },
} as const;
