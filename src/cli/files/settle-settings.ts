import type { JsonValue } from '../../base/json.ts';
import { isGiven } from '../../plugins/check-settings.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { plainValue, settingsOf } from './check-config.ts';
import type { ConfigEntry } from './configuration-file.ts';
import { fileNameOf, placeOf, referenceIn, type Reference, type References } from './references.ts';

/** A setting as the file wants it, with what its reference leads to. */
export type Setting =
  /** `place`: where a reference led; what it found there is never shown. */
  | { readonly kind: 'value'; readonly value: JsonValue; readonly place?: string }
  /** Undefined value: what the reference names is not there, or nobody looks. */
  | { readonly kind: 'secret'; readonly place: string; readonly value: string | undefined }
  | { readonly kind: 'file'; readonly place: string; readonly name: string; readonly bytes: Uint8Array | undefined }
  | { readonly kind: 'unset'; readonly isSecret: boolean };

export type Settings = ReadonlyMap<string, Setting>;

/**
 * `fields`: of the plugin; undefined: not known yet, as it is still to be installed: every reference counts as a secret.
 * `keepSecrets`: nobody looks for the secrets.
 */
export function settleSettings(
  entry: ConfigEntry,
  fields: readonly PluginField[] | undefined,
  references: References,
  { keepSecrets = false }: { readonly keepSecrets?: boolean },
): Settings {
  const settle = (key: string, value: JsonValue): Setting => {
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
  return new Map(Object.entries(settingsOf(entry)).map(([key, value]) => [key, settle(key, value)]));
}

function fileSetting(reference: Reference, references: References): Setting {
  const place = placeOf(reference);
  if ('env' in reference) return { kind: 'file', place, name: '', bytes: undefined };
  return { kind: 'file', place, name: fileNameOf(reference.file), bytes: references.bytes(reference.file) };
}

/** Places of references that lead nowhere. */
export function unresolved(settings: Settings): string[] {
  return [...settings.values()].flatMap((setting) => {
    if (setting.kind === 'secret' && setting.value === undefined) return [setting.place];
    return setting.kind === 'file' && setting.bytes === undefined ? [setting.place] : [];
  });
}

/** The body of a request that writes these settings; secrets that nobody has looked for are left out, so they stay. */
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
