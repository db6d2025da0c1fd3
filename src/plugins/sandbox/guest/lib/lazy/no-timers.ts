/** Timers that never fire, for packages that need them to exist. */
const timer = { unref: (): object => timer, ref: (): object => timer };

export const setTimeout = (): object => timer;
export const clearTimeout = (): void => undefined;
