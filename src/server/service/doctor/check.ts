import type { Settings } from '../../config/settings.ts';

/** The service that is meant. */
export interface ServicePlace {
  readonly url: string;
  /** Whether the address is not that of these settings. */
  readonly isElsewhere: boolean;
  /** Whether a process uses the data directory; `undefined` if any service at the address is meant. */
  readonly isInUse: boolean | undefined;
}

export interface DoctorContext {
  readonly settings: Settings;
  readonly place: ServicePlace;
}

/** `failed`: events are or will be refused, lost or wrong. `warning`: they may be, or operation is at risk. */
export type Severity = 'failed' | 'warning';

/** A fault: what was expected and what came. A string has the severity of its check. */
export type Fault = string | { readonly detail: string; readonly severity: Severity };

/** The state as one sentence if everything is right, or the faults; an empty list is right as well. */
export type Outcome = string | readonly Fault[];

/** A check that cannot be made here: the platform or the server does not support it. It is reported as skipped. */
export class CheckSkippedError extends Error {
  override name = 'CheckSkippedError';
}

export interface Check<Subject> {
  /** What is checked: a noun phrase. */
  readonly checks: string;
  readonly severity: Severity;
  /** What to change after a fault. */
  readonly advice: string;
  /** Changes nothing. What it throws is a fault too. */
  readonly find: (subject: Subject) => Promise<Outcome> | Outcome;
}

/** Checks of one part of an installation, which read the same subject. */
export interface Part {
  readonly title: string;
  readonly checks: Readonly<Record<string, Check<never>>>;
  /** Code of the check that the subject can be opened, if that can fail. */
  readonly opened: string | undefined;
  /** Whether the settings have the part. */
  readonly applies: (context: DoctorContext) => boolean;
  readonly open: (context: DoctorContext) => Promise<AsyncDisposable>;
}

/** Declares a part. The subject of its checks is what `open` returns. */
export function definePart<Subject extends AsyncDisposable>(part: {
  readonly title: string;
  readonly opened?: string;
  readonly applies?: (context: DoctorContext) => boolean;
  readonly open: (context: DoctorContext) => Promise<Subject>;
  readonly checks: Readonly<Record<string, Check<Subject>>>;
}): Part {
  const { title, checks, open, opened, applies = () => true } = part;
  return { title, checks, opened, applies, open };
}

/** Returns a function that calls another one once and shares its result. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= read());
}

/** Nothing to close. */
export const nothingOpen = { [Symbol.asyncDispose]: async () => {} };
