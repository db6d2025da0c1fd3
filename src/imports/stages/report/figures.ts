const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** 1530000 → `1.5 MB`; powers of 1000. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value.toLocaleString('en-GB', { maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0 })} ${units[unit] ?? 'B'}`;
}

/** 4000 → `4 s`, 3723000 → `1 h 2 min`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** 2024-03-01T10:20:30.000Z → `2024-03-01 10:20:30 UTC`. */
export function timeText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** 0.034 → `3.4 %`; a small positive share is `< 0.1 %`. */
export function percentText(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${percent.toLocaleString('en-GB', { maximumFractionDigits: 1 })} %`;
}
