/**
 * Makes untrusted text safe where only plain text is possible (labels, options, tab titles), which cannot isolate its direction:
 * replaces direction marks with visible code points and limits the length.
 */
export function plainText(text: string, charsMax = 120): string {
  return visible(text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);
}

/**
 * Control characters except tab and line break, and characters that hide or reorder text. Joiners are kept: scripts and emoji need
 * them.
 */
// oxlint-disable-next-line no-control-regex -- the regex matches control characters on purpose.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Makes invisible characters visible: NUL as ␀, direction marks as their code points. */
export function visible(text: string): string {
  return text.replace(hidden, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
