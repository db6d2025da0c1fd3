/** What is wrong at one place of a plan. */
export interface PlanFault {
  /** Names and indexes joined by dots: `events.3.schema.properties.price`. Empty for the plan as a whole. */
  readonly path: string;
  /** What was expected and what was found. */
  readonly detail: string;
}

const shownCharsMax = 60;

/** Returns a short JSON text of a value, for messages and samples. */
export function shown(value: unknown): string {
  if (value === undefined) return 'none';
  const text = JSON.stringify(value) ?? typeof value;
  return (text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text).toWellFormed();
}
