import * as url from 'node:url';
import { recordArgument, textArgument } from './arguments.ts';
import type { SyncOps } from './ops.ts';
import { urlParts, type UrlPart } from '../wire/url-parts.ts';

const charactersMax = 4_194_304;

export const urlOps: SyncOps = {
  'url.parse': ([input, base]) => {
    const text = textArgument(input, 'the URL', charactersMax);
    const parsed = URL.parse(text, base === null ? undefined : textArgument(base, 'the base URL', charactersMax));
    return parsed === null ? null : componentsOf(parsed);
  },
  'url.set': ([href, part, value]) => {
    const parsed = URL.parse(textArgument(href, 'the URL', charactersMax));
    const text = textArgument(value, 'the value', charactersMax);
    if (parsed === null || !isSettable(part)) return null;
    if (part === 'href' && !URL.canParse(text)) return null;
    parsed[part] = text;
    return componentsOf(parsed);
  },
  'url.legacyParse': ([text, parseQuery, slashesDenoteHost]) => ({
    ...url.parse(textArgument(text, 'the URL', charactersMax), parseQuery === true, slashesDenoteHost === true),
  }),
  'url.legacyFormat': ([given]) =>
    typeof given === 'string'
      ? url.format(textArgument(given, 'the URL', charactersMax))
      : url.format(legacyParts(recordArgument(given, 'the URL'))),
  'url.legacyResolve': ([from, to]) =>
    url.resolve(textArgument(from, 'the URL', charactersMax), textArgument(to, 'the relative URL', charactersMax)),
};

function componentsOf(parsed: URL): string[] {
  return urlParts.map((part) => parsed[part]);
}

function isSettable(part: unknown): part is Exclude<UrlPart, 'origin'> {
  return part !== 'origin' && urlParts.some((each) => each === part);
}

const legacyTexts = ['protocol', 'auth', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'] as const;

/** Keeps only the fields that format reads, of the right types. */
function legacyParts(given: Readonly<Record<string, unknown>>): url.UrlObject {
  const made: Record<string, unknown> = {};
  for (const name of legacyTexts) {
    const value = given[name];
    if (typeof value === 'string' || typeof value === 'number') made[name] = value;
  }
  if (typeof given['slashes'] === 'boolean') made['slashes'] = given['slashes'];
  if (typeof given['query'] === 'object' && given['query'] !== null) made['query'] = given['query'];
  return made;
}
