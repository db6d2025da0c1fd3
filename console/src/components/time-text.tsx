import { useProject } from '../shell/project-context.tsx';
import { formatAgo, formatTime } from './format-time.ts';

interface TimeTextProps {
  /** ISO time. */
  readonly time: string | null | undefined;
  /** `ago` is relative to now, `exact` includes milliseconds, `clock` also omits the date, for live data. */
  readonly form?: 'time' | 'ago' | 'exact' | 'clock';
  /** IANA name; defaults to the project's time zone. */
  readonly zone?: string;
}

/** The part of `2026-11-22 16:45:01.123` that each form shows. */
const parts = {
  time: (exact: string) => exact.slice(0, exact.lastIndexOf('.')),
  exact: (exact: string) => exact,
  clock: (exact: string) => exact.slice(exact.indexOf(' ') + 1),
} as const;

/** Shows a time in the project's time zone, with UTC in the tooltip. */
export function TimeText({ time, form = 'time', zone }: TimeTextProps) {
  const project = useProject();
  const timezone = zone ?? project.timezone;
  if (time === null || time === undefined || Number.isNaN(Date.parse(time)))
    return <span className="text-faint">–</span>;
  // Formatted once for text and tooltip: it costs more than the rest of a table cell.
  const exact = formatTime(time, timezone, true);
  const shown = form === 'ago' ? formatAgo(time, Date.now()) : parts[form](exact);
  const title = `${exact} ${timezone}\n${new Date(time).toISOString()} UTC`;
  return (
    <time dateTime={time} title={title} className="whitespace-nowrap">
      {shown}
    </time>
  );
}
