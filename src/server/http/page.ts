import { createHash } from 'node:crypto';
import { html, type Html } from '../../base/html.ts';
import { pageStyle } from './page-style.ts';

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** A whole page; everything it needs is in it. */
export function page(title: string, content: Html): string {
  const head = html`<meta charset="utf-8" /><meta name="viewport" content="width=device-width,initial-scale=1" />
    <link rel="icon" href="data:," /><title>${title}</title>`;
  return (
    `<!doctype html><html lang="en"><head>${head.safe}<style>${pageStyle}</style></head>` +
    `<body><main>${content.safe}</main></body></html>`
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
