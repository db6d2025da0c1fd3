interface SparklineProps {
  /** Oldest first. */
  readonly values: readonly number[];
  /** What it shows, for those who cannot see it: "Deliveries of the last 24 hours". */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
}

/** Bars without axes; the label and the sum say the same in words. */
export function Sparkline({ values, label, width = 96, height = 24 }: SparklineProps) {
  const highest = Math.max(1, ...values);
  const step = width / Math.max(1, values.length);
  const sum = values.reduce((total, value) => total + value, 0);
  return (
    <svg
      role="img"
      aria-label={`${label}: ${sum.toLocaleString('en')} in all`}
      width={width}
      height={height}
      className="text-accent"
    >
      {values.map((value, index) => {
        const bar = value === 0 ? 1 : Math.max(2, (value / highest) * height);
        return (
          <rect
            key={index}
            x={index * step}
            y={height - bar}
            width={Math.max(1, step - 1)}
            height={bar}
            rx={0.5}
            fill="currentColor"
            opacity={value === 0 ? 0.25 : 1}
          />
        );
      })}
    </svg>
  );
}
