import { createHash } from 'node:crypto';
import { pageStyle } from './page-style.ts';

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

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** A whole page; everything it needs is in it. */
export function page(title: string, content: Html): string {
  const head = html`<meta charset="utf-8" /><meta name="viewport" content="width=device-width,initial-scale=1" />
    <link rel="icon" href="data:," /><title>${title}</title>`;
  return (
    `<!doctype html><html lang="en"><head>${head.text}<style>${pageStyle}</style></head>` +
    `<body><main>${content.text}</main></body></html>`
  );
}

const policy = [
  "default-src 'none'",
  'img-src data:',
  `style-src 'sha256-${styleHash}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For every page: nothing from elsewhere, no script, no framing, no caching. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not no-referrer: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
} as const;
