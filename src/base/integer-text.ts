/** 1234567 → `1,234,567`. */
export function integer(value: number): string {
  return value.toLocaleString('en-GB', { maximumFractionDigits: 0 });
}

/** Returns `one` for 1, otherwise `many`. */
export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** Returns `the first event` or `the first 1,234 events`. */
export function firstOf(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? `the first ${one}` : `the first ${integer(count)} ${many}`;
}

/** Returns `1 event` or `1,234 events`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${integer(count)} ${plural(count, one, many)}`;
}
