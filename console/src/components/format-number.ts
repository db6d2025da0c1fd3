const steps = ['', ' k', ' M', ' G', ' T'] as const;

/** Formats 1234567 as `1.23 M`, with at most three significant digits. */
export function formatNumber(value: number): string {
  return scaled(value, 1000, steps);
}

/** Formats 1536 as `1.5 KiB`. */
export function formatBytes(bytes: number): string {
  return scaled(bytes, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
}

/** Formats events per second as `1.2 k/s`. */
export function formatRate(perSecond: number): string {
  return `${formatNumber(perSecond)}/s`;
}

/** Formats 93_000 as `1 min 33 s`, with the two largest units. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  let rest = Math.round(ms / 1000);
  const parts: string[] = [];
  for (const [unit, seconds] of [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const amount = Math.floor(rest / seconds);
    rest -= amount * seconds;
    if (amount > 0) parts.push(`${amount} ${unit}`);
    if (parts.length > 0 && (amount === 0 || parts.length === 2)) break;
  }
  return parts.join(' ');
}

/** Returns `1 event` or `1,234 events`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let rest = value;
  let step = 0;
  while (Math.abs(rest) >= base && step < units.length - 1) {
    rest /= base;
    step += 1;
  }
  // 999.9 would be rounded to 1000 of the same unit.
  if (Math.abs(rest) >= 999.5 && step < units.length - 1 && base === 1000 && step > 0) {
    rest /= base;
    step += 1;
  }
  const digits = Number.isInteger(rest) || Math.abs(rest) >= 100 ? 0 : Math.abs(rest) >= 10 ? 1 : 2;
  return `${Number(rest.toFixed(digits))}${units[step]}`;
}
