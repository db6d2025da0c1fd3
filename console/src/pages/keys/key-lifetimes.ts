const dayMs = 86_400_000;
/** The service compares with its own clock, which may be a little behind. */
const marginMs = 60_000;
const usual = [7, 30, 90, 365];

interface LifetimeChoice {
  /** Days, or `never`. */
  readonly value: string;
  readonly label: string;
}

/** Lists the lifetimes to choose from, the default first. @param daysMax `null` for no limit */
export function lifetimesOf(daysMax: number | null): readonly LifetimeChoice[] {
  const days = daysMax === null ? usual : [daysMax, ...usual.filter((each) => each < daysMax)];
  const choices = days.map((each) => ({ value: String(each), label: labelOf(each) }));
  return daysMax === null ? [{ value: 'never', label: 'Never' }, ...choices] : choices;
}

function labelOf(days: number): string {
  if (days === 365) return 'In a year';
  return days === 1 ? 'In a day' : `In ${days} days`;
}

/** @param now ms since the epoch */
export function expiryOf(lifetime: string, now: number): string | null {
  return lifetime === 'never' ? null : new Date(now + Number(lifetime) * dayMs - marginMs).toISOString();
}
