import { Search, X } from 'lucide-react';
import { type ReactNode, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { isTyping } from '../shell/is-typing.ts';
import { Button } from './button.tsx';
import { Input } from './input.tsx';
import { BareSelect, type Choice } from './select.tsx';
import { fromZonedText, toZonedText } from './zoned-time.ts';

export type Filter<Name extends string = string> =
  | {
      readonly kind: 'text';
      readonly name: Name;
      readonly label: string;
      readonly placeholder?: string;
      /** Suggested values; others are accepted too. */
      readonly suggestions?: readonly string[];
    }
  | {
      readonly kind: 'choice';
      readonly name: Name;
      readonly label: string;
      readonly choices: readonly Choice<string>[];
    }
  | {
      /** ISO 8601 in the URL, local time of the zone in the field. */
      readonly kind: 'time';
      readonly name: Name;
      readonly label: string;
      readonly timezone: string;
    };

interface FilterBarProps<Values extends object> {
  readonly filters: readonly Filter<keyof Values & string>[];
  /** The search parameters that the filters are bound to. */
  readonly values: Values;
  /** Receives changed values, `undefined` for a cleared filter. The page writes them to the URL, which validates them. */
  readonly onChange: (change: Partial<Values>) => void;
  /** Parameters of other filters, which "Clear filters" clears too. */
  readonly others?: readonly (keyof Values & string)[];
  /** Additional controls after the filters. */
  readonly children?: ReactNode;
}

/** Filters of a page, bound to its URL. `/` focuses the first one. */
export function FilterBar<Values extends object>(props: FilterBarProps<Values>) {
  const { filters, values, onChange, others = [], children } = props;
  const ref = useFocusOnSlash();
  const change = (names: readonly string[], value?: string): void =>
    onChange(Object.fromEntries(names.map((name) => [name, value])) as Partial<Values>);
  const names = [...filters.map(({ name }) => name), ...others];
  const isFiltered = names.some((name) => values[name] !== undefined);
  return (
    <div ref={ref} role="search" aria-label="Filters" className="flex flex-wrap items-center gap-2 pb-3">
      {filters.map((filter) => (
        <FilterControl
          key={filter.name}
          filter={filter}
          value={textOf(values[filter.name])}
          onChange={(value) => change([filter.name], value === '' ? undefined : value)}
        />
      ))}
      {children}
      {isFiltered && (
        <Button kind="quiet" icon={<X aria-hidden="true" className="size-4" />} onClick={() => change(names)}>
          Clear filters
        </Button>
      )}
    </div>
  );
}

interface FilterControlProps {
  readonly filter: Filter;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function FilterControl({ filter, value, onChange }: FilterControlProps) {
  if (filter.kind === 'text') return <TextFilter {...filter} value={value} onChange={onChange} />;
  if (filter.kind === 'time') return <TimeFilter {...filter} value={value} onChange={onChange} />;
  const choices = [{ value: '', label: filter.label }, ...filter.choices];
  return (
    <span className="w-44">
      <BareSelect aria-label={filter.label} value={value} choices={choices} onChange={onChange} />
    </span>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly suggestions?: readonly string[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const debounceMs = 300;

/** Updates the URL with a debounce: otherwise each key press would be a request. */
function TextFilter({ label, placeholder, suggestions, value, onChange }: TextFilterProps) {
  const listId = useId();
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const send = useRef(onChange);
  send.current = onChange;
  useEffect(() => {
    // The URL changed in another way, such as the back button or "Clear filters".
    if (value !== sent.current) {
      sent.current = value;
      setTyped(value);
    }
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = typed;
      send.current(typed);
    }, debounceMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <span className="relative w-full sm:w-60">
      <Search aria-hidden="true" className="pointer-events-none absolute top-2 left-2.5 size-4 text-faint" />
      <Input
        type="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        className="pl-8"
        list={suggestions === undefined ? undefined : listId}
      />
      {suggestions !== undefined && (
        <datalist id={listId}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </span>
  );
}

function useFocusOnSlash(): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  // Before paint: users may type as soon as they see the filters.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '/' || isTyping(event)) return;
      event.preventDefault();
      ref.current?.querySelector<HTMLElement>('input, select')?.focus();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  return ref;
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

interface TimeFilterProps {
  /** Label before the field: "From". */
  readonly label: string;
  /** Time zone of the field. */
  readonly timezone: string;
  /** ISO 8601; empty if the filter is off. */
  readonly value: string;
  readonly onChange: (iso: string) => void;
}

const timeDebounceMs = 700;

/** A date and time in a zone. The input is uncontrolled: an incomplete date has no value yet and must not be reset. */
function TimeFilter({ label, timezone, value, onChange }: TimeFilterProps) {
  const id = useId();
  const ref = useRef<HTMLInputElement>(null);
  const debounce = useRef<ReturnType<typeof setTimeout>>(undefined);
  // Before paint: users may type as soon as they see the field.
  useLayoutEffect(() => {
    const field = ref.current;
    if (field !== null) field.value = toZonedText(value, timezone);
  }, [value, timezone]);
  useEffect(() => () => clearTimeout(debounce.current), []);
  const changeLater = (field: HTMLInputElement): void => {
    clearTimeout(debounce.current);
    if (field.validity.badInput) return;
    debounce.current = setTimeout(() => onChange(fromZonedText(field.value, timezone) ?? ''), timeDebounceMs);
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
        title={`Time zone: ${timezone}`}
        max="9999-12-31T23:59"
        onChange={(event) => changeLater(event.currentTarget)}
        className="sm:w-52"
      />
    </span>
  );
}
