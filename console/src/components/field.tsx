import { useId, type ReactNode } from 'react';
import { UserText } from './user-text.tsx';

/** Props that a field passes to its control. */
export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** Validation message. */
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly children: (control: ControlProps) => ReactNode;
}

/** Connects label, control, hint and error of one input for screen readers. */
export function Field({ label, hint, error, required = false, children }: FieldProps) {
  const id = useId();
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const described = [hint !== undefined && hintId, error !== undefined && errorId].filter(Boolean).join(' ');
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
        {required && <span className="text-danger"> *</span>}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': error !== undefined || undefined })}
      {hint !== undefined && (
        <p id={hintId} className="text-xs text-soft">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={errorId} role="alert" className="text-xs text-danger">
          <UserText text={error} charsMax={600} />
        </p>
      )}
    </div>
  );
}
