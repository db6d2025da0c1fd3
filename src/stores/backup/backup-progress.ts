/** Receives the progress of a backup or a restore; the receiver decides how often to show it. */
export interface BackupProgress {
  /** The current step, e.g. `writing files`, and the bytes that it will process. */
  readonly step: (name: string, bytes?: number) => void;
  readonly bytes: (count: number) => void;
  /** A message for the user. */
  readonly note: (sentence: string) => void;
}
