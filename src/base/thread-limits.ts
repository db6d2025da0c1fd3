/**
 * Heap limits in MiB for a thread with high throughput and few long-lived objects: three semi-spaces of 8 MiB. With V8's
 * default, a thread keeps up to 100 MiB for that and is not faster. The pipeline's thread keeps objects until its window ends
 * and uses the default: with less, an event with person properties costs 3 to 5 % more.
 */
export const throughputThreadLimits = { maxYoungGenerationSizeMb: 24 } as const;
