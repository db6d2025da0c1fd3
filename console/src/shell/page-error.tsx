import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError } from '../api/api-error.ts';
import { ErrorState } from '../components/error-state.tsx';

/** Replaces a page that failed. Errors other than ApiError may come from assets of an older version, which a reload fixes. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={error instanceof ApiError ? reset : () => location.reload()} />;
}
