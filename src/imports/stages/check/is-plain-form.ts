const depthPlain = 48;
const keysPlain = 5000;

/** Who hears the names of properties. */
export interface KeyListener {
  /** Of the first level. */
  readonly onKey: (key: string) => void;
  /** Of those of the person and the group: in `$set`, `$set_once` and `$group_set`. */
  readonly onNestedKey: (key: string) => void;
}

/** Whether properties nest and number so little that the door cannot mind. */
export function isPlainForm(
  properties: Readonly<Record<string, unknown>>,
  { onKey, onNestedKey }: KeyListener,
): boolean {
  let keys = 0;
  // Records come from JSON.parse: own members only.
  for (const key in properties) {
    onKey(key);
    const value = properties[key];
    keys += 1;
    if (typeof value === 'object' && value !== null) keys += countKeys(value, 2, isBag(key) ? onNestedKey : undefined);
  }
  return keys <= keysPlain;
}

function isBag(key: string): boolean {
  return key === '$set' || key === '$set_once' || key === '$group_set';
}

/** Infinity: nested too deep to go on. */
function countKeys(value: object, depth: number, onKey?: (key: string) => void): number {
  if (depth > depthPlain) return Infinity;
  let keys = 0;
  if (Array.isArray(value)) {
    for (const each of value as readonly unknown[]) {
      if (typeof each === 'object' && each !== null) keys += countKeys(each, depth + 1);
    }
    return keys;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    const each = members[key];
    onKey?.(key);
    keys += 1;
    if (typeof each === 'object' && each !== null) keys += countKeys(each, depth + 1);
  }
  return keys;
}
