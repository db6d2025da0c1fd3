const depthPlain = 48;
const keysPlain = 5000;

/**
 * Whether properties nest and number so little that the door cannot mind. `onKey` hears every name of the first level.
 */
export function isPlainForm(properties: Readonly<Record<string, unknown>>, onKey: (key: string) => void): boolean {
  let keys = 0;
  // Records come from JSON.parse: own members only.
  for (const key in properties) {
    onKey(key);
    const value = properties[key];
    keys += 1;
    if (typeof value === 'object' && value !== null) keys += countKeys(value, 2);
  }
  return keys <= keysPlain;
}

/** Infinity: nested too deep to go on. */
function countKeys(value: object, depth: number): number {
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
    keys += 1;
    if (typeof each === 'object' && each !== null) keys += countKeys(each, depth + 1);
  }
  return keys;
}
