/** A file of an archive; to be read before the next one is asked for. */
export interface ArchiveMember {
  /** For messages: `exports.zip: 2024/a.json`. Nothing is ever written under it. */
  readonly name: string;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Files that archivers and file managers add of their own. */
const added = /(^|\/)(__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$)/;

export function isAddedByTools(path: string): boolean {
  return added.test(path);
}
