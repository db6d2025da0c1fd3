interface ProgressBarProps {
  readonly label: string;
  /** 0 to 1; null: nobody knows. */
  readonly share: number | null;
}

/** How much of something is done. */
export function ProgressBar({ label, share }: ProgressBarProps) {
  return (
    <progress
      aria-label={label}
      {...(share === null ? {} : { value: share })}
      max={1}
      className="h-1.5 w-full min-w-16 accent-accent"
    />
  );
}
