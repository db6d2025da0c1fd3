import type { ComponentProps, ReactNode } from 'react';
import { classNames } from './class-names.ts';

type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

export interface ButtonProps extends ComponentProps<'button'> {
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'medium';
  /** Shows a spinner and ignores further clicks. */
  readonly busy?: boolean;
  readonly icon?: ReactNode;
}

const kinds: Readonly<Record<ButtonKind, string>> = {
  primary: 'border-transparent bg-accent text-accent-ink hover:bg-accent-hover',
  plain: 'border-line bg-surface text-ink hover:bg-hover',
  quiet: 'border-transparent bg-transparent text-soft hover:bg-hover hover:text-ink',
  danger: 'border-transparent bg-danger text-danger-ink hover:opacity-90',
};

const sizes = { small: 'h-7 px-2 text-xs gap-1', medium: 'h-8 px-3 text-sm gap-1.5' } as const;

/** Returns the classes of a button, for links that look like one. */
export function buttonStyle(kind: ButtonKind = 'plain', size: 'small' | 'medium' = 'medium'): string {
  return classNames(
    'inline-flex shrink-0 items-center justify-center rounded-md border font-medium whitespace-nowrap transition-colors',
    'disabled:pointer-events-none disabled:opacity-60',
    kinds[kind],
    sizes[size],
  );
}

export function Button({ kind, size, busy = false, icon, className, children, onClick, ...props }: ButtonProps) {
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      className={classNames(buttonStyle(kind, size), busy && 'cursor-progress', className)}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      {...props}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  );
}

function Spinner() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" className="size-4 animate-spin">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="2" opacity="0.25" />
      <path d="M14 8a6 6 0 0 0-6-6" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}
