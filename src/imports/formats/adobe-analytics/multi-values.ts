/**
 * Columns with several values (event_list, product_list, mvvars): a caret takes the meaning off a comma, semicolon, equals sign or
 * another caret behind it. https://experienceleague.adobe.com/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-spec-chars.html
 */
export type Separator = ',' | ';' | '=' | '|';

/** Cut at each separator that is not escaped; the pieces keep their escapes. */
export function splitEscaped(text: string, separator: Separator): readonly string[] {
  if (!text.includes('^')) return text.split(separator);
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '^') at += 1;
    else if (text[at] === separator) {
      pieces.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)];
}

export function unescaped(text: string): string {
  return text.replaceAll(/\^([,;=^])/g, '$1');
}
