import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { html, type Html } from '../../base/html.ts';

/** Styles of the start pages, small enough to be part of each page. */
const pageStyle = `
:root {
  color-scheme: light dark;
  --ink: #16202b; --soft: #5a6774; --line: #dfe4ea; --page: #f6f7f9; --card: #fff; --accent: #0b6e75;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8edf2; --soft: #9aa7b4; --line: #2c3742; --page: #11171d; --card: #19212a; --accent: #4fc3c9; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
p { margin: .5rem 0; }
.soft { color: var(--soft); }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem; margin: 1.25rem 0;
}
code, pre { font: 13.5px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre {
  background: var(--page); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; margin: .6rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
code.key { user-select: all; overflow-wrap: anywhere; }
label { display: block; font-weight: 600; margin: .7rem 0 .2rem; }
input, select {
  font: inherit; color: inherit; width: 100%; padding: .5rem .6rem;
  border: 1px solid var(--line); border-radius: 8px; background: var(--page);
}
button, a.button {
  font: inherit; font-weight: 600; margin-top: .9rem; padding: .5rem 1.1rem;
  border: 0; border-radius: 8px; background: var(--accent); color: var(--card); cursor: pointer;
}
a.button { display: inline-block; margin-top: .3rem; text-decoration: none; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
.notice { border-color: var(--accent); }
`;

const styleHash = createHash('sha256').update(pageStyle).digest('base64');

/** Returns a complete page that needs no other files. */
function page(title: string, content: Html): string {
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

/** Headers of every page: nothing from other servers, no scripts, no framing, no caching. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not no-referrer: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
} as const;

export function sendPage(reply: FastifyReply, status: number, title: string, content: Html): FastifyReply {
  return reply.code(status).headers(pageHeaders).send(page(title, content));
}

export function messagePage(title: string, text: string): Html {
  return html`<h1>${title}</h1>
    <section><p>${text}</p></section>
    <p><a href="/">Back</a></p>`;
}
