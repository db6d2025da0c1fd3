import { lazy, Suspense } from 'react';
import { useProject } from '../shell/project-context.tsx';
import { formatTime } from './format-time.ts';

export type ChartTone = 'accent' | 'ok' | 'warn' | 'danger' | 'info' | 'soft';

export interface ChartSeries {
  readonly label: string;
  readonly tone: ChartTone;
  /** One for each time; null where there is none. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** What it shows: "Events by hour". */
  readonly label: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** `steps`: each value holds until the next time; for counts of intervals of several kinds. */
  readonly kind?: 'line' | 'bars' | 'steps';
  /** In pixels. */
  readonly height?: number;
  /** How a value is written. */
  readonly format?: (value: number) => string;
}

const ChartCanvas = lazy(async () => ({ default: (await import('./chart-canvas.tsx')).ChartCanvas }));
const rowsMax = 500;

/** Values over time. The same numbers are there as a table, for screen readers and for whoever opens it. */
export function Chart(props: ChartProps) {
  const { label, times, series, height = 180, format = (value) => value.toLocaleString('en') } = props;
  const { timezone } = useProject();
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      {/* Room for a legend of one line; on narrow screens it may take more. */}
      <div style={{ minHeight: height + 40 }} aria-hidden="true">
        <Suspense>
          <ChartCanvas {...props} height={height} format={format} timezone={timezone} />
        </Suspense>
      </div>
      <figcaption className="text-xs text-soft">
        <details>
          <summary>{label}: the numbers as a table</summary>
          <div
            tabIndex={0}
            role="region"
            aria-label={label}
            className="mt-2 max-h-64 overflow-auto rounded-md border border-line"
          >
            <table className="w-full text-left">
              <thead>
                <tr>
                  <th className="px-2 py-1">Time ({timezone})</th>
                  {series.map((each) => (
                    <th key={each.label} className="px-2 py-1 text-right">
                      {each.label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {times.slice(-rowsMax).map((time, row) => (
                  <tr key={time}>
                    <td className="px-2 py-0.5">{formatTime(new Date(time * 1000).toISOString(), timezone)}</td>
                    {series.map((each) => (
                      <td key={each.label} className="px-2 py-0.5 text-right">
                        {numberOf(each.values.slice(-rowsMax)[row], format)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      </figcaption>
    </figure>
  );
}

function numberOf(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
