/**
 * Matches pairs as well: the meaning of an escape depends on its beginning, so that `\\ud800` (a backslash and letters) is
 * skipped.
 */
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

/**
 * Returns JSON text in which escapes of lone surrogates (`\ud83d` alone), which strict readers refuse, are replaced with
 * U+FFFD. Stored bytes are unchanged.
 */
export function strictJson(text: string): string {
  if (!text.includes(String.raw`\ud`) && !text.includes(String.raw`\uD`)) return text;
  return text.replace(escapes, (escape, lone: string | undefined) => (lone === undefined ? escape : '\ufffd'));
}
