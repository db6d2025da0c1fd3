/** `dataDir` → `data-dir` or `data_dir`, by what stands between the words. */
export function inWords(name: string, between: '-' | '_'): string {
  return name.replace(/[A-Z]/g, (letter) => `${between}${letter.toLowerCase()}`);
}
