import { useEffect, useId, useLayoutEffect, useRef } from 'react';
import { Input } from './input.tsx';
import { fromZonedText, toZonedText } from './zoned-time.ts';

export interface TimeFilterProps {
  /** What stands before the field: "From". */
  readonly label: string;
  /** Whose clocks the field shows. */
  readonly timezone: string;
  /** ISO 8601; empty: the filter is off. */
  readonly value: string;
  readonly onChange: (iso: string) => void;
}

const settleMs = 700;

/** A day and time of a zone. The field keeps what is typed by itself: half a date is no value yet, and must not be taken away. */
export function TimeFilter({ label, timezone, value, onChange }: TimeFilterProps) {
  const id = useId();
  const ref = useRef<HTMLInputElement>(null);
  const settling = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Before it is painted: who sees the field may type into it, or read it.
  useLayoutEffect(() => {
    const field = ref.current;
    if (field !== null) field.value = toZonedText(value, timezone);
  }, [value, timezone]);
  useEffect(() => () => clearTimeout(settling.current), []);
  const settle = (field: HTMLInputElement): void => {
    clearTimeout(settling.current);
    if (field.validity.badInput) return;
    settling.current = setTimeout(() => onChange(fromZonedText(field.value, timezone) ?? ''), settleMs);
  };
  return (
    <span className="flex w-full items-center gap-1.5 sm:w-auto">
      <label htmlFor={id} className="shrink-0 text-xs text-soft">
        {label}
      </label>
      <Input
        ref={ref}
        id={id}
        type="datetime-local"
        title={`By the clocks of ${timezone}`}
        max="9999-12-31T23:59"
        onChange={(event) => settle(event.currentTarget)}
        className="sm:w-52"
      />
    </span>
  );
}
