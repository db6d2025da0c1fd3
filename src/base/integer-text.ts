/** 1234567 → `1,234,567`. */
export function integer(value: number): string {
  return value.toLocaleString('en-GB', { maximumFractionDigits: 0 });
}
