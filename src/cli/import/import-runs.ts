import type { ImportRunResume } from '../../wire/contract/import-runs.ts';
import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import type { RunView } from './run-view.ts';

/** Runs that exist: of one import app config on a server (server-runs.ts), or of a state directory (local-runs.ts). */
export interface ImportRuns {
  /** Newest first. */
  list(): Promise<readonly RunView[]>;
  /** Undefined: the newest. Errors: notFound. */
  find(run: string | undefined): Promise<RunView>;
  act(run: string, action: RunAction, changes?: ImportRunResume): Promise<RunView>;
  /** Errors: notFound where the run has not come so far. */
  check(run: string): Promise<CheckResult>;
  verify(run: string): Promise<VerifyResult>;
  report(run: string, form: 'json' | 'html', signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** NDJSON of RejectedRecord. */
  rejected(run: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Compares once more what is stored with what was sent; a run of this machine when its command is given again. */
  verifyAgain(run: string): Promise<RunView>;
  /** Every change until nothing happens any more unless somebody asks for it. */
  steps(run: string, signal: AbortSignal): AsyncIterable<RunView>;
}

export type RunAction = 'pause' | 'resume' | 'cancel' | 'retry_rejected' | 'promote';
