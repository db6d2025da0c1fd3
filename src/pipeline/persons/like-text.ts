/** Escapes a text for a LIKE pattern with backslash as escape character. */
export function likeText(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
