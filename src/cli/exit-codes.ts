/** Exit codes, which are stable. docs/reference/cli.md is generated from this table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Done.' },
  failed: { code: 1, meaning: 'Failed; the message says why.' },
  differences: {
    code: 2,
    meaning: '`diff` only: there are differences. An invalid `diff` command ends with 1.',
  },
  usage: { code: 2, meaning: 'The command is invalid, or needs `--yes`.' },
  rejected: {
    code: 3,
    meaning:
      'Finished, but some records were rejected or could not be read, or the source reports that it is incomplete.',
  },
  auth: { code: 4, meaning: 'The key is missing, wrong, or lacks a scope.' },
  notFound: { code: 5, meaning: 'The record, project or path does not exist.' },
  rateLimited: { code: 6, meaning: 'The server limits the rate; try again later.' },
  different: {
    code: 7,
    meaning: 'An import completed, but stored events differ from what was sent; the report lists where.',
  },
  preflight: { code: 8, meaning: 'An import was not started: its preflight found a problem and says what to change.' },
  exactById: {
    code: 9,
    meaning:
      'An import completed, and every event is stored with its id, time and name; its properties could not be compared, or ' +
      'active transformations may have changed them.',
  },
  unverified: {
    code: 10,
    meaning: 'An import completed without verification: the target cannot be read, or not with this key.',
  },
  unreachable: { code: 69, meaning: 'The server cannot be reached or has a problem.' },
  paused: { code: 75, meaning: 'An import is paused; the same command resumes it.' },
  invalidConfig: { code: 78, meaning: 'The configuration is invalid.' },
  interrupted: { code: 130, meaning: 'Stopped by Ctrl-C.' },
  terminated: { code: 143, meaning: 'Stopped by SIGTERM.' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitReason = keyof typeof exitCodes;

/** Ends the command with a message for the user and an exit code for scripts. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly reason: ExitReason;
  /** Seconds to wait before another attempt, where the server names them. */
  readonly waitSeconds: number | undefined;
  /** HTTP status of the response, if there was one. */
  readonly status: number | undefined;
  constructor(
    reason: ExitReason,
    message: string,
    {
      waitSeconds,
      status,
      ...options
    }: { readonly cause?: unknown; readonly waitSeconds?: number | undefined; readonly status?: number } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.waitSeconds = waitSeconds;
    this.status = status;
  }
}
