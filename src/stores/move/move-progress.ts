/** Receives the progress of a move; the receiver decides how often to show it. */
export interface MoveProgress {
  /** A table is started: its index and the number of tables. */
  readonly table: (name: string, at: number, of: number) => void;
  /** Rows of it were copied. */
  readonly rows: (count: number) => void;
  /** A month of a project is started. */
  readonly month: (project: number, month: number) => void;
  /** Stored rows were inserted. */
  readonly events: (count: number) => void;
  /** A message for the user. */
  readonly note: (sentence: string) => void;
}
