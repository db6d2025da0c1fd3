import { useProject } from '../shell/project-context.tsx';
import { formatAgo, formatTime } from './format-time.ts';

interface TimeTextProps {
  /** ISO time. */
  readonly time: string | null | undefined;
  /** `ago` is relative to now; `exact` shows milliseconds. */
  readonly form?: 'time' | 'ago' | 'exact';
  /** IANA name; absent: the project's. */
  readonly zone?: string;
}

/** A moment in the project's time zone; UTC on hover. */
export function TimeText({ time, form = 'time', zone }: TimeTextProps) {
  const project = useProject();
  const timezone = zone ?? project.timezone;
  if (time === null || time === undefined || Number.isNaN(Date.parse(time)))
    return <span className="text-faint">–</span>;
  const shown = form === 'ago' ? formatAgo(time, Date.now()) : formatTime(time, timezone, form === 'exact');
  const title = `${formatTime(time, timezone, true)} ${timezone}\n${new Date(time).toISOString()} UTC`;
  return (
    <time dateTime={time} title={title} className="whitespace-nowrap">
      {shown}
    </time>
  );
}
