/** A figure that was read at some time. */
export interface Sample {
  readonly hours: number;
  readonly value: number;
}

/** A straight line through samples. */
export interface Line {
  /** What the value grows by in an hour. */
  readonly perHour: number;
  readonly standardError: number;
}

/**
 * The line with the least squares. Memory wanders: a sample above the line is mostly followed by another one, so there is less in
 * many of them than their number says. The standard error is made larger by how much a residual resembles the one before it (as of a
 * process of first order). Throws with fewer than three samples.
 */
export function fitLine(samples: readonly Sample[]): Line {
  const count = samples.length;
  if (count < 3) throw new Error(`expected three samples or more to fit a line, got: ${count}`);
  const [meanHours, meanValue] = [mean(samples.map(({ hours }) => hours)), mean(samples.map(({ value }) => value))];
  const spread = sum(samples.map(({ hours }) => (hours - meanHours) ** 2));
  const perHour = sum(samples.map(({ hours, value }) => (hours - meanHours) * (value - meanValue))) / spread;
  const residuals = samples.map(({ hours, value }) => value - meanValue - perHour * (hours - meanHours));
  const squares = sum(residuals.map((residual) => residual ** 2));
  const independent = Math.sqrt(squares / (count - 2) / spread);
  const resemblance = squares === 0 ? 0 : likeness(residuals) / squares;
  const kept = Math.min(Math.max(resemblance, 0), resemblanceMax);
  return { perHour, standardError: independent * Math.sqrt((1 + kept) / (1 - kept)) };
}

const resemblanceMax = 0.99;

/** How much each resembles the one before it. */
function likeness(residuals: readonly number[]): number {
  return sum(residuals.slice(1).map((residual, at) => residual * (residuals[at] ?? 0)));
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
