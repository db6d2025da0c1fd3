/** For packages that cannot do without: what would happen later never happens. */
const timer = { unref: (): object => timer, ref: (): object => timer };

export const setTimeout = (): object => timer;
export const clearTimeout = (): void => undefined;
