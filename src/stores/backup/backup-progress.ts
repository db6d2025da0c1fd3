/** Told while a backup or a restore is at work; whoever shows it decides how often. */
export interface BackupProgress {
  /** What is done now, e.g. `writing files`; `bytes` of it come. */
  readonly step: (name: string, bytes?: number) => void;
  readonly bytes: (count: number) => void;
  /** Something that people should read. */
  readonly note: (sentence: string) => void;
}
