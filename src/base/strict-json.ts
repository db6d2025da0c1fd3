/** Pairs are kept: what an escape stands for is decided from its beginning, so that `\\ud800` (a backslash and letters) is none. */
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

/**
 * JSON text in which no escape stands for half a character (`\ud83d` alone), which strict readers refuse: U+FFFD stands there instead.
 * What is stored keeps its bytes.
 */
export function strictJson(text: string): string {
  if (!text.includes(String.raw`\ud`) && !text.includes(String.raw`\uD`)) return text;
  return text.replace(escapes, (escape, lone: string | undefined) => (lone === undefined ? escape : '\ufffd'));
}
