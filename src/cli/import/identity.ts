import { slowHash } from '../../base/slow-hash.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { ImportRequest } from './request.ts';

/**
 * What makes two commands the same import: where the records come from, what is made of them, where they go. How fast, how many
 * may be rejected and whether it ends at the check can change from one command to the next. 16 hex digits; nothing of a secret can
 * be told from them: a slow hash keeps a weak password of a database from being guessed out of a directory's name.
 */
export function identityOf({ source, paths, settings, options, projectKey: apiKey = '' }: ImportRequest): string {
  const { range, format, formatOptions, names, choice, transform, limit, target } = options;
  const code = transform?.hash;
  const what = { source, paths, settings, range, format, formatOptions, names, choice, code, limit, target, apiKey };
  return slowHash(canonicalJson(what));
}

/** Of a check, which sends nothing: an import of the same records takes it over, wherever it loads them. */
export function identityOfCheck(request: ImportRequest): string {
  return identityOf({
    ...request,
    projectKey: undefined,
    options: { ...request.options, target: { kind: 'project' } },
  });
}
