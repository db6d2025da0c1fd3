/** A text as a pattern of LIKE finds it, where a backslash escapes. */
export function likeText(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
