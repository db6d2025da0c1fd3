/** Lines of the setting `paths` of a source of files. */
export function linesOf(paths: string): string[] {
  return paths.split('\n').filter((line) => line.trim() !== '');
}

/** With one more upload. Uploads stand by name, as the files of a directory do, in whatever order they arrived; other paths come first. */
export function withUpload(paths: string, path: string): string {
  const lines = new Set([...linesOf(paths), path]);
  const uploads = [...lines].filter(isUpload).toSorted();
  return [...[...lines].filter((line) => !isUpload(line)), ...uploads].join('\n');
}

function isUpload(line: string): boolean {
  return line.startsWith('upload:');
}
