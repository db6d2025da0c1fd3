/** The directory, bucket or container that receives the files of one export. */
export interface ExportPlace {
  /** Shows the file only once it is complete; repeating it replaces the file. */
  write(
    name: string,
    chunks: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Removes the files, as far as they exist. */
  remove(names: readonly string[]): Promise<void>;
  close(): void;
}

/** The place refuses the export until a user changes something; the message says what. */
export class ExportPlaceError extends Error {
  override name = 'ExportPlaceError';
}
