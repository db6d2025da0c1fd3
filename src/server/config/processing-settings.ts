/** Batch sizes and memory limits of the pipeline and the store. */
export const processingSettings = {
  windowEventsMax: {
    env: 'MILLRACE_WINDOW_EVENTS_MAX',
    type: 'integer',
    default: 100_000,
    min: 1,
    max: 1_000_000,
    help: 'Maximum number of events read from the log at once.',
  },
  personCacheBytes: {
    env: 'MILLRACE_PERSON_CACHE_BYTES',
    type: 'integer',
    default: 402_653_184,
    min: 1_048_576,
    max: 1_099_511_627_776,
    help: 'Memory for recently active persons, about 400 bytes for one without properties. From two thirds on, the least recently active are evicted; if few persons return, already after 100,000 others. Evicted persons are read again on return.',
  },
  storeMemoryBytesMax: {
    env: 'MILLRACE_STORE_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 1_073_741_824,
    min: 268_435_456,
    max: 1_099_511_627_776,
    help: 'Memory limit of the embedded event store.',
  },
  queryTimeoutMs: {
    env: 'MILLRACE_QUERY_TIMEOUT_MS',
    type: 'integer',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of a query of stored events.',
  },
} as const;
