import { decodePercent } from './address.ts';

/** Maximum nesting of addresses in addresses, as in `?next=…`. */
const nestedMax = 3;
const userInfoForm = /^((?:[a-z][a-z\d+.-]*:)?\/\/)[^/?#]*@/i;

interface UrlMask {
  readonly isSensitive: (name: string) => boolean;
  readonly mask: string;
}

/**
 * Masks every part of an address that may contain a secret: credentials (`//user:password@`), and the values of sensitive parameters
 * behind the first `?` or `#`, including addresses that are values themselves. Other addresses stay unchanged.
 */
export function maskUrl(url: string, how: UrlMask, nested = 0): string {
  const start = url.replace(userInfoForm, (_all, scheme: string) => `${scheme}${how.mask}@`);
  const mark = start.search(/[?#]/) + 1;
  if (mark === 0) return start;
  // Separators are kept.
  const pieces = start.slice(mark - 1).split(/([&#])/);
  let inFragment = false;
  const masked = pieces.map((piece, index) => {
    if (piece === '#') inFragment = true;
    return piece === '' || piece === '&' || piece === '#'
      ? piece
      : maskParameter(piece, how, inFragment && index > 0, nested);
  });
  return start.slice(0, mark - 1) + masked.join('');
}

/** Masks `name=value`, optionally after a path and a question mark, as in `#/page?name=value`. */
function maskParameter(piece: string, how: UrlMask, inFragment: boolean, nested: number): string {
  const equals = piece.indexOf('=');
  const before = equals === -1 ? piece : piece.slice(0, equals);
  const name = before.slice(before.lastIndexOf('?') + 1);
  // A fragment without a value is an anchor in the page.
  const isPlace = equals === -1 && inFragment && !before.includes('?');
  if (name !== '' && !isPlace && isNamedSo(name, how)) return `${before}=${how.mask}`;
  if (equals === -1 || nested === nestedMax) return piece;
  return `${before}=${maskValue(piece.slice(equals + 1), how, nested + 1)}`;
}

function maskValue(value: string, how: UrlMask, nested: number): string {
  const plain = decodePercent(value);
  const masked = maskUrl(plain, how, nested);
  if (masked === plain) return value;
  return plain === value ? masked : encodeURIComponent(masked);
}

function isNamedSo(name: string, { isSensitive }: UrlMask): boolean {
  const decoded = decodePercent(name);
  return isSensitive(name) || (decoded !== name && isSensitive(decoded));
}
