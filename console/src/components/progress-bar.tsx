import { classNames } from './class-names.ts';

interface ProgressBarProps {
  readonly label: string;
  /** 0 to 1; null if unknown. */
  readonly share: number | null;
}

export function ProgressBar({ label, share }: ProgressBarProps) {
  return (
    <progress
      aria-label={label}
      {...(share === null ? {} : { value: share })}
      max={1}
      className={classNames(
        'block h-1.5 w-full min-w-16 appearance-none overflow-hidden rounded-full bg-line',
        '[&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-accent',
        share === null && 'animate-pulse',
      )}
    />
  );
}
