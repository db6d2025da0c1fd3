/** Told while a move is at work; whoever shows it decides how often. */
export interface MoveProgress {
  /** A table is begun: the how-manieth of how many. */
  readonly table: (name: string, at: number, of: number) => void;
  /** So many rows of it were copied. */
  readonly rows: (count: number) => void;
  /** A month of a project is begun. */
  readonly month: (project: number, month: number) => void;
  /** So many stored rows were inserted. */
  readonly events: (count: number) => void;
  /** Something that people should read. */
  readonly note: (sentence: string) => void;
}
