/** How a command ends, for scripts. Stable. docs/reference/cli.md follows from this table. */
export const exitCodes = {
  ok: { code: 0, meaning: 'Done.' },
  failed: { code: 1, meaning: 'Failed; the message says why.' },
  differences: {
    code: 2,
    meaning: 'Of `diff` alone: there are differences. A `diff` that was not understood ends with 1.',
  },
  usage: { code: 2, meaning: 'The command was not understood, or needs `--yes`.' },
  rejected: {
    code: 3,
    meaning: 'Finished, but some records were rejected or could not be read, or the source says that it is incomplete.',
  },
  auth: { code: 4, meaning: 'The key is missing, wrong, or lacks a scope.' },
  notFound: { code: 5, meaning: 'There is no such record, project or path.' },
  rateLimited: { code: 6, meaning: 'The server limits the rate; try again later.' },
  different: {
    code: 7,
    meaning: 'An import is done, but what is stored differs from what was sent; the report says where.',
  },
  preflight: { code: 8, meaning: 'An import was not begun: its preflight found a problem and says what to change.' },
  exactById: {
    code: 9,
    meaning:
      'An import is done, and every event is stored with its id, time and name; its properties could not be compared, or ' +
      'active transformations may have changed them.',
  },
  unverified: {
    code: 10,
    meaning: 'An import is done, and nobody looked into the store: the target cannot be read, or not with this key.',
  },
  unreachable: { code: 69, meaning: 'The server cannot be reached or has trouble.' },
  paused: { code: 75, meaning: 'An import is paused; the same command goes on where it stopped.' },
  invalidConfig: { code: 78, meaning: 'The configuration is invalid.' },
  interrupted: { code: 130, meaning: 'Stopped by Ctrl-C.' },
  terminated: { code: 143, meaning: 'Stopped by SIGTERM.' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitReason = keyof typeof exitCodes;

/** Ends the command with a sentence for the person and a code for the script. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly reason: ExitReason;
  /** After how many seconds another attempt makes sense, where the server has said so. */
  readonly waitSeconds: number | undefined;
  /** What the service has answered with, where one has. */
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
