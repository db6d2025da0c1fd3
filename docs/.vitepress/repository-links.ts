import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

interface Place {
  /** The absolute path of the folder of pages. */
  readonly docs: string;
  /** The address of the repository's files, such as `https://code.example/millrace/blob/main`; `undefined` if unknown. */
  readonly repositoryUrl: string | undefined;
}

/**
 * Points links to files outside of docs at the repository; without its address they become text that names the file.
 * Throws when a linked file does not exist, so that the build fails.
 */
export function leadOutOfDocs(markdown: MarkdownRenderer, place: Place): void {
  markdown.core.ruler.push('lead-out-of-docs', ({ tokens, env }) => {
    const { relativePath: page } = env as { readonly relativePath: string };
    for (const { children } of tokens) {
      if (children !== null) leadOut(children, page, place);
    }
  });
}

function leadOut(tokens: readonly Token[], page: string, { docs, repositoryUrl }: Place): void {
  let isText = false;
  for (const token of tokens) {
    if (token.type === 'link_close' && isText) {
      token.tag = 'span';
      isText = false;
    }
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href === null || /^([a-z]+:|#)/.test(href)) continue;
    const [path = '', heading] = decodeURI(href).split('#');
    const file = join(docs, dirname(page), path);
    if (!existsSync(file)) throw new Error(`expected the links of ${page} to lead to files, got: ${href}`);
    const inRepository = relative(join(docs, '..'), file);
    if (inRepository.startsWith('docs/')) continue;
    if (repositoryUrl === undefined) {
      asText(token, inRepository);
      isText = true;
    } else token.attrSet('href', [`${repositoryUrl}/${inRepository}`, heading].filter(Boolean).join('#'));
  }
}

function asText(token: Token, path: string): void {
  token.type = 'text_open';
  token.tag = 'span';
  token.attrs = [
    ['class', 'in-repository'],
    ['title', path],
  ];
}
