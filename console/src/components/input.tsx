import type { ComponentProps } from 'react';
import { classNames } from './class-names.ts';

/** Shared classes of text inputs. */
export const inputStyle = classNames(
  'w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink transition-colors',
  'aria-invalid:border-danger disabled:bg-sunken disabled:text-soft',
);

/** A single-line input without a label, with automatic text direction. TextInput adds a label. */
export function Input({ className, ...props }: ComponentProps<'input'>) {
  return <input dir="auto" className={classNames(inputStyle, 'h-8', className)} {...props} />;
}
