import { ApiError, type ErrorCode } from '../api/api-error.ts';

/** Advice by error code, added to the message of the API. */
const adviceByCode: Partial<Readonly<Record<ErrorCode, string>>> = {
  unreachable: 'Retrying until the service responds.',
  unavailable: 'Retrying. See Status for the part that is unavailable.',
  throttled: 'Too many requests. Wait a moment and try again.',
  not_authenticated: 'Sign in again.',
  permission_denied: 'Ask an administrator for permission.',
  not_found: 'It may have been deleted. Go back to the list.',
  error: 'See the service log for details.',
};

/** Returns a sentence that describes the error and one that says what to do. */
export function errorText(error: unknown): { readonly title: string; readonly advice: string } {
  if (error instanceof ApiError) return { title: error.detail, advice: adviceByCode[error.code] ?? '' };
  const title = error instanceof Error ? error.message : 'Something went wrong.';
  return { title, advice: 'Reload the page. If this keeps happening, it is a bug in the console.' };
}
