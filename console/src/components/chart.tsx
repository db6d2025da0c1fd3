import { lazy, Suspense } from 'react';
import { useProject } from '../shell/project-context.tsx';
import { formatTime } from './format-time.ts';

export type ChartTone = 'accent' | 'ok' | 'warn' | 'danger' | 'info' | 'violet' | 'soft';

export interface ChartSeries {
  readonly label: string;
  readonly tone: ChartTone;
  /** One value per time; null means no value. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** Title, such as "Events by hour". */
  readonly label: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Bars are stacked, for counts by interval. */
  readonly kind?: 'line' | 'bars';
  /** In pixels. */
  readonly height?: number;
  /** Formats a value. */
  readonly format?: (value: number) => string;
  /** Called with the range selected by dragging, in Unix seconds. Without it, dragging zooms the drawing itself. */
  readonly onSelect?: (from: number, to: number) => void;
}

const ChartCanvas = lazy(async () => ({ default: (await import('./chart-canvas.tsx')).ChartCanvas }));
const rowsMax = 500;

/** Shows values over time. The same numbers are available as a table, also for screen readers. */
export function Chart(props: ChartProps) {
  const { label, times, series, height = 180, format = (value) => value.toLocaleString('en') } = props;
  const { timezone } = useProject();
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      {/* Reserves a one-line legend; it may wrap on narrow screens. */}
      <div style={{ minHeight: height + 40 }} aria-hidden="true">
        <Suspense>
          <ChartCanvas {...props} height={height} format={format} timezone={timezone} />
        </Suspense>
      </div>
      <figcaption className="text-xs text-soft">
        <details>
          <summary>{label}: show as table</summary>
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
