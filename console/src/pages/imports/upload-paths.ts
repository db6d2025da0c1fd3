/** Returns the lines of the setting `paths`. */
export function linesOf(paths: string): string[] {
  return paths.split('\n').filter((line) => line.trim() !== '');
}

/** Adds an upload. Uploads are sorted by name like the files of a directory; other paths come first. */
export function withUpload(paths: string, path: string): string {
  const lines = new Set([...linesOf(paths), path]);
  const uploads = [...lines].filter(isUpload).toSorted();
  return [...[...lines].filter((line) => !isUpload(line)), ...uploads].join('\n');
}

function isUpload(line: string): boolean {
  return line.startsWith('upload:');
}
