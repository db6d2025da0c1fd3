/** How much the pipeline and the store take at a time, and in memory. */
export const processingSettings = {
  windowEventsMax: {
    env: 'MILLRACE_WINDOW_EVENTS_MAX',
    type: 'integer',
    default: 100_000,
    min: 1,
    max: 1_000_000,
    help: 'Events taken from the log in one go.',
  },
  personCacheBytes: {
    env: 'MILLRACE_PERSON_CACHE_BYTES',
    type: 'integer',
    default: 402_653_184,
    min: 1_048_576,
    max: 1_099_511_627_776,
    help: 'Memory for persons that events came of lately, about 400 bytes for one without properties; from two thirds of it on, those that have been away longest are forgotten, and where hardly anybody is asked for again, as soon as 100,000 others have come. They are read again when they return.',
  },
  storeMemoryBytesMax: {
    env: 'MILLRACE_STORE_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 1_073_741_824,
    min: 268_435_456,
    max: 1_099_511_627_776,
    help: 'Memory that the embedded event store may take.',
  },
  queryTimeoutMs: {
    env: 'MILLRACE_QUERY_TIMEOUT_MS',
    type: 'integer',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Longest time of one query of stored events.',
  },
} as const;
