import { useProject } from '../shell/project-context.tsx';
import { formatAgo, formatTime } from './format-time.ts';

interface TimeTextProps {
  /** ISO time. */
  readonly time: string | null | undefined;
  /** `ago` is relative to now; `exact` shows milliseconds; `clock` does so without the day, for what is seen as it happens. */
  readonly form?: 'time' | 'ago' | 'exact' | 'clock';
  /** IANA name; absent: the project's. */
  readonly zone?: string;
}

/** What each form shows of `2026-11-22 16:45:01.123`. */
const parts = {
  time: (exact: string) => exact.slice(0, exact.lastIndexOf('.')),
  exact: (exact: string) => exact,
  clock: (exact: string) => exact.slice(exact.indexOf(' ') + 1),
} as const;

/** A moment in the project's time zone; UTC on hover. */
export function TimeText({ time, form = 'time', zone }: TimeTextProps) {
  const project = useProject();
  const timezone = zone ?? project.timezone;
  if (time === null || time === undefined || Number.isNaN(Date.parse(time)))
    return <span className="text-faint">–</span>;
  // Once for both: making a format costs more than all else that a cell does.
  const exact = formatTime(time, timezone, true);
  const shown = form === 'ago' ? formatAgo(time, Date.now()) : parts[form](exact);
  const title = `${exact} ${timezone}\n${new Date(time).toISOString()} UTC`;
  return (
    <time dateTime={time} title={title} className="whitespace-nowrap">
      {shown}
    </time>
  );
}
