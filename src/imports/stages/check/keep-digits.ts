import { exactNumber, mayHoldExact } from '../../../base/exact-json.ts';
import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../../formats/read-values.ts';

/**
 * Numbers of more digits than JavaScript holds reach the code of a transform rounded. Where it leaves one in its place, the digits
 * of the source take the place of the rounded ones; where it writes the rounded number elsewhere, that can be told by its many
 * digits, and the digits of the source are put there, too. What it writes into a text cannot be mended.
 */
export type KeptDigits =
  | { readonly kind: 'kept'; readonly properties: Json }
  /** The number of the source that stands rounded in a text. */
  | { readonly kind: 'lost'; readonly number: string };

/** A rounded number with so many digits is no other one by chance. */
const tellingDigits = 15;

/** `before`: as it was handed over, as text `beforeText`. `after`: what came back. `texts`: what else came back. */
export function keepDigits(
  { before, beforeText }: { readonly before: Json; readonly beforeText: string },
  after: Json,
  texts: readonly string[],
): KeptDigits {
  if (!mayHoldExact(beforeText)) return { kind: 'kept', properties: after };
  const moved = movedNumbers(before);
  if (moved === undefined) return { kind: 'kept', properties: after };
  const properties = restore(before, after, moved) as Json;
  const lost = roundedInText(moved, properties, beforeText, texts);
  return lost === undefined ? { kind: 'kept', properties } : { kind: 'lost', number: lost };
}

/** Numbers beyond a double, by what JavaScript makes of them; those that could be told from others. Undefined: there are none at all. */
type Moved = ReadonlyMap<number, unknown>;

function movedNumbers(before: Json): Moved | undefined {
  const moved = new Map<number, unknown>();
  let found = 0;
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const text = exactNumber(value);
    if (text === undefined) {
      for (const each of Object.values(value)) look(each);
      return;
    }
    found += 1;
    const rounded = Number(text);
    const digits = String(rounded).replace(/e.*$/, '').replaceAll(/\D/g, '').replace(/^0+/, '');
    if (digits.length >= tellingDigits) moved.set(rounded, value);
  };
  look(before);
  return found === 0 ? undefined : moved;
}

/** `after` with the exact numbers of `before`. */
function restore(before: unknown, after: unknown, moved: Moved): unknown {
  const own = typeof before === 'object' && before !== null ? exactNumber(before) : undefined;
  if (own !== undefined && isRounded(Number(own), after)) return before;
  if (typeof after === 'number') return moved.get(after) ?? after;
  if (Array.isArray(after)) {
    const known: readonly unknown[] = Array.isArray(before) ? before : [];
    return after.map((each, index) => restore(known[index], each, moved));
  }
  if (!isObject(after)) return after;
  const known: Json = isObject(before) ? before : {};
  const restored: Properties = {};
  for (const [key, value] of Object.entries(after)) {
    setMember(restored, key, restore(Object.hasOwn(known, key) ? known[key] : undefined, value, moved));
  }
  return restored;
}

/** JSON has no infinity: what is too large for JavaScript comes back as null. */
function isRounded(rounded: number, after: unknown): boolean {
  return after === rounded || (after === null && !Number.isFinite(rounded));
}

function roundedInText(
  moved: Moved,
  properties: Json,
  beforeText: string,
  texts: readonly string[],
): string | undefined {
  if (moved.size === 0) return undefined;
  const after = [JSON.stringify(properties), ...texts];
  for (const [rounded, value] of moved) {
    const digits = String(rounded);
    if (!beforeText.includes(digits) && after.some((text) => text.includes(digits))) return exactNumber(value);
  }
  return undefined;
}
