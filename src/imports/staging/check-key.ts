/** Keys become paths, so nothing but what staging itself makes may come through. Throws for any other. */
export function checkKey(key: string): string {
  const segments = key.split('/');
  const sound = /^[a-zA-Z0-9_.=/-]+$/.test(key) && segments.every((each) => each !== '' && !/^\.+$/.test(each));
  if (!sound) throw new Error(`expected a key of staging such as "run/parts/000001", got: ${JSON.stringify(key)}`);
  return key;
}
