import { formatBytes, formatDuration, formatNumber, formatRate } from './format-number.ts';

interface NumberTextProps {
  readonly value: number | null | undefined;
  /** `count` groups thousands, `short` abbreviates as 1.2 M. */
  readonly unit?: 'count' | 'short' | 'bytes' | 'ms' | 'per_second' | 'percent';
}

/** Shows a number with its unit, or a dash for no value. The full number is the tooltip. */
export function NumberText({ value, unit = 'count' }: NumberTextProps) {
  if (value === null || value === undefined) return <span className="text-faint">–</span>;
  return <span title={value.toLocaleString('en')}>{textOf(value, unit)}</span>;
}

function textOf(value: number, unit: NonNullable<NumberTextProps['unit']>): string {
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'ms') return formatDuration(value);
  if (unit === 'per_second') return formatRate(value);
  if (unit === 'percent') return `${formatNumber(value * 100)} %`;
  return unit === 'short' ? formatNumber(value) : value.toLocaleString('en');
}
