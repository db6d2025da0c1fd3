import { createHash } from 'node:crypto';

/** HTML that is safe to send: text goes in through `html`, which escapes it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Template tag: strings are escaped, Html and lists of it go in as they are. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += toText(value) + (parts[index + 1] ?? '');
  });
  return new Html(text);
}

function toText(value: string | Html | readonly Html[]): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => entities[character] ?? character);
  return value.map((item) => item.text).join('');
}

const style = `
:root{color-scheme:light dark;--ink:#16202b;--soft:#5a6774;--line:#dfe4ea;--page:#f6f7f9;--card:#fff;--accent:#0b6e75}
@media (prefers-color-scheme:dark){:root{--ink:#e8edf2;--soft:#9aa7b4;--line:#2c3742;--page:#11171d;--card:#19212a;--accent:#4fc3c9}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:3rem 1.25rem}
h1{font-size:1.6rem;margin:0 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.1rem;margin:0 0 .5rem}
p{margin:.5rem 0}
.soft{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.25rem;margin:1.25rem 0}
code,pre{font:13.5px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--page);border:1px solid var(--line);border-radius:8px;padding:.8rem;overflow:auto;margin:.6rem 0}
code.key{user-select:all;overflow-wrap:anywhere}
label{display:block;font-weight:600;margin:.7rem 0 .2rem}
input,select{font:inherit;color:inherit;width:100%;padding:.5rem .6rem;border:1px solid var(--line);border-radius:8px;background:var(--page)}
button{font:inherit;font-weight:600;margin-top:.9rem;padding:.5rem 1.1rem;border:0;border-radius:8px;background:var(--accent);color:var(--card);cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
a{color:var(--accent)}
.notice{border-color:var(--accent)}
`;
const styleHash = createHash('sha256').update(style).digest('base64');

/** A whole page; everything it needs is in it. */
export function page(title: string, content: Html): string {
  const head = html`<meta charset="utf-8" /><meta name="viewport" content="width=device-width,initial-scale=1" />
    <link rel="icon" href="data:," /><title>${title}</title>`;
  return `<!doctype html><html lang="en"><head>${head.text}<style>${style}</style></head><body><main>${content.text}</main></body></html>`;
}

/** For every page: nothing from elsewhere, no script, no framing, no caching. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not no-referrer: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
} as const;
