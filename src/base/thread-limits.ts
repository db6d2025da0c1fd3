/**
 * Of the heap of a thread that passes much through and keeps little, MiB: three parts of 8 MiB for what is new. With V8's default a
 * thread keeps up to 100 MiB for that, and is no faster. The pipeline's thread keeps what it makes until its window ends, and has
 * the default: with less, an event that says something of its person costs 3 to 5 % more.
 */
export const throughputThreadLimits = { maxYoungGenerationSizeMb: 24 } as const;
