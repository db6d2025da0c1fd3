/** HTML or SVG that is safe to put into a page: text goes in through `html`, which escapes it. */
export interface Html {
  readonly safe: string;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Control characters, and those that turn the direction of what follows: names may hold any. */
// oxlint-disable-next-line no-control-regex -- those are what is looked for.
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

type Value = string | number | Html | readonly Html[];

/** Template tag (where the formatter must not break lines, as in SVG, under another name): text is escaped, numbers go in as they are written, Html and lists of it as they are. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let safe = parts[0] ?? '';
  values.forEach((value, index) => {
    safe += textOf(value) + (parts[index + 1] ?? '');
  });
  return { safe };
}

function textOf(value: Value): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escaped(value);
  return 'safe' in value ? value.safe : value.map(({ safe }) => safe).join('');
}

export function escaped(text: string): string {
  return text.replace(harmful, '\ufffd').replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** For names and sentences of others: shortened in the middle of nothing, never in the middle of a character. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

export const nothing: Html = { safe: '' };
