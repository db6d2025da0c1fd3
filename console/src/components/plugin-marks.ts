const marks = new Set(['$plugins_succeeded', '$plugins_failed', '$plugins_deferred', '$plugins_skipped']);

/** Removes the properties that record which transformations ran, since every transformation changes them. */
export function withoutMarks<Value>(properties: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !marks.has(name)));
}
