/** HTML or SVG that is safe to insert into a page; `html` escapes text. */
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

/** Control characters, and those that change the text direction: names may contain any. */
// oxlint-disable-next-line no-control-regex -- those are what is looked for.
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

type Value = string | number | Html | readonly Html[];

/** Template tag that escapes text and inserts numbers, Html and lists of Html unchanged. Alias it where the formatter must not break lines, as in SVG. */
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

/** Truncates names and sentences of users, never within a character. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

export const nothing: Html = { safe: '' };
