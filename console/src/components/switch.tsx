interface SwitchProps {
  /** Accessible name; the page shows a visible label next to it. */
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

/** A switch that takes effect immediately. */
export function Switch({ label, checked, onChange, disabled }: SwitchProps) {
  return (
    <span className="relative inline-flex h-5 w-9 shrink-0">
      <input
        type="checkbox"
        role="switch"
        aria-label={label}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
        className="peer absolute inset-0 m-0 size-full appearance-none rounded-full border border-line-strong bg-sunken transition-colors checked:border-accent checked:bg-accent disabled:opacity-60"
      />
      <span className="pointer-events-none absolute top-1 left-1 size-3 rounded-full bg-line-strong transition-transform peer-checked:translate-x-4 peer-checked:bg-accent-ink" />
    </span>
  );
}
