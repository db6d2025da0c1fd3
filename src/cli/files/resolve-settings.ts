import type { JsonValue } from '../../base/json.ts';
import { isGiven } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { plainValue, settingsOf } from './check-file.ts';
import type { ConfigEntry } from './configuration-file.ts';
import { fileNameOf, placeOf, referenceIn, type Reference, type References } from './references.ts';

/** A setting of the file, with the value of its reference. */
export type Setting =
  /** With `place`, the value comes from a reference and is never shown. */
  | { readonly kind: 'value'; readonly value: JsonValue; readonly place?: string }
  /** Without a value, the reference has none or was not read. */
  | { readonly kind: 'secret'; readonly place: string; readonly value: string | undefined }
  | { readonly kind: 'file'; readonly place: string; readonly name: string; readonly bytes: Uint8Array | undefined }
  | { readonly kind: 'unset'; readonly isSecret: boolean };

export type Settings = ReadonlyMap<string, Setting>;

/**
 * Resolves the settings of an entry.
 *
 * @param fields of the plugin; unknown before its installation, when every reference counts as a secret
 * @param keepSecrets does not read the references of secrets
 */
export function resolveSettings(
  entry: ConfigEntry,
  fields: readonly PluginField[] | undefined,
  references: References,
  { keepSecrets = false }: { readonly keepSecrets?: boolean },
): Settings {
  const resolve = (key: string, value: JsonValue): Setting => {
    const field = fields?.find((each) => each.key === key);
    if (!isGiven(value)) return { kind: 'unset', isSecret: field?.secret === true };
    const reference = field?.type === 'json' && field.secret !== true ? undefined : referenceIn(value);
    if (reference === undefined)
      return { kind: 'value', value: field === undefined ? value : plainValue(field, value) };
    if (field?.type === 'attachment') return fileSetting(reference, references);
    if (field === undefined || field.secret === true) {
      return { kind: 'secret', place: placeOf(reference), value: keepSecrets ? undefined : references.text(reference) };
    }
    const found = references.text(reference);
    if (found !== undefined) return { kind: 'value', value: found, place: placeOf(reference) };
    return { kind: 'secret', place: placeOf(reference), value: undefined };
  };
  return new Map(Object.entries(settingsOf(entry)).map(([key, value]) => [key, resolve(key, value)]));
}

function fileSetting(reference: Reference, references: References): Setting {
  const place = placeOf(reference);
  if ('env' in reference) return { kind: 'file', place, name: '', bytes: undefined };
  return { kind: 'file', place, name: fileNameOf(reference.file), bytes: references.bytes(reference.file) };
}

/** Returns references without a value. */
export function unresolved(settings: Settings): string[] {
  return [...settings.values()].flatMap((setting) => {
    if (setting.kind === 'secret' && setting.value === undefined) return [setting.place];
    return setting.kind === 'file' && setting.bytes === undefined ? [setting.place] : [];
  });
}

/** Returns the body of a request that writes the settings; secrets that were not read are omitted, so they stay. */
export function settingsBody(settings: Settings): Record<string, JsonValue> | FormData {
  const values = Object.fromEntries(
    [...settings].flatMap(([key, setting]): [string, JsonValue][] => {
      if (setting.kind === 'unset') return [[key, '']];
      return setting.kind === 'file' || setting.value === undefined ? [] : [[key, setting.value]];
    }),
  );
  const files = [...settings].flatMap(([key, setting]) => (setting.kind === 'file' ? [{ key, ...setting }] : []));
  if (files.length === 0) return values;
  const form = new FormData();
  for (const [key, value] of Object.entries(values)) {
    form.set(key, typeof value === 'string' ? value : JSON.stringify(value));
  }
  for (const { key, name, bytes } of files) {
    if (bytes !== undefined) form.set(key, new Blob([Uint8Array.from(bytes)]), name);
  }
  return form;
}
