interface SparklineProps {
  /** Oldest first. */
  readonly values: readonly number[];
  /** Accessible name: "Deliveries in the last 24 hours". */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
}

/** Bars without axes. Two paths instead of one element per bar, because tables render hundreds of them. */
export function Sparkline({ values, label, width = 96, height = 24 }: SparklineProps) {
  const { bars, gaps } = pathsOf(values, width, height);
  return (
    <svg role="img" aria-label={label} width={width} height={height} className="text-accent">
      <path d={gaps} fill="currentColor" opacity={0.3} />
      <path d={bars} fill="currentColor" />
    </svg>
  );
}

/** Returns bars for values and a thin line for zeros. */
function pathsOf(values: readonly number[], width: number, height: number): { bars: string; gaps: string } {
  const highest = Math.max(1, ...values);
  const step = width / Math.max(1, values.length);
  let bars = '';
  let gaps = '';
  values.forEach((value, index) => {
    const size = value === 0 ? 1 : Math.max(2, Math.round((value / highest) * height));
    const bar = `M${(index * step).toFixed(1)} ${height}v${-size}h${Math.max(1, step - 1).toFixed(1)}v${size}z`;
    if (value === 0) gaps += bar;
    else bars += bar;
  });
  return { bars, gaps };
}
