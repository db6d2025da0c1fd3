/** Control characters but tab and line break, and marks that turn or hide what follows; joiners belong to scripts and emoji. */
// oxlint-disable-next-line no-control-regex -- those are what is looked for.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with what cannot be seen made visible: NUL as ␀, marks of direction as their code points. */
export function visible(text: string): string {
  return text.replace(hidden, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
