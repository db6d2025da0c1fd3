/** A file of an archive; `read` gives its bytes, or throws TooLargeError once there are more than `bytesMax`. */
export interface ArchiveMember {
  readonly path: string;
  /** As the archive states it; not to be relied upon. */
  readonly size: number;
  read(bytesMax: number): Promise<Uint8Array>;
}

/** There is more than there may be. */
export class TooLargeError extends Error {
  override name = 'TooLargeError';
}
