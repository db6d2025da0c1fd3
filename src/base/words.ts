/** `dataDir` → `data-dir` or `data_dir`, depending on the separator. */
export function inWords(name: string, between: '-' | '_'): string {
  return name.replace(/[A-Z]/g, (letter) => `${between}${letter.toLowerCase()}`);
}
