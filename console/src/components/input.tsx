import type { ComponentProps } from 'react';
import { classNames } from './class-names.ts';

/** The look of everything that is typed into. */
export const inputStyle = classNames(
  'w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-sm text-ink transition-colors',
  'aria-invalid:border-danger disabled:bg-sunken disabled:text-soft',
);

/** A bare input of one line, in the direction of what is typed; with a label it is a TextInput. */
export function Input({ className, ...props }: ComponentProps<'input'>) {
  return <input dir="auto" className={classNames(inputStyle, 'h-8', className)} {...props} />;
}
