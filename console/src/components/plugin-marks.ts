const marks = new Set(['$plugins_succeeded', '$plugins_failed', '$plugins_deferred', '$plugins_skipped']);

/** Properties without the marks of what the event went through: every transformation changes those. */
export function withoutMarks<Value>(properties: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !marks.has(name)));
}
