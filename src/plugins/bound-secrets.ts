import { isGiven, ownValue, settingText, withDefaults } from './check-settings.ts';
import type { PluginField, SettingValues } from './fields.ts';

/** Names of settings that hold a destination, for plugins that do not declare `sent_to`. */
const addressLike = /(url|uri|host|endpoint|address|server|domain|broker)s?$/i;

interface UnboundSecret {
  readonly key: string;
  /** The setting that changed. */
  readonly destination: string;
}

/**
 * Finds the stored secrets that would be sent to another address than the one they were given for. `kept` lists the keys of
 * secrets, files included, that are set and not given again.
 */
export function unboundSecrets(
  fields: readonly PluginField[],
  before: SettingValues,
  after: SettingValues,
  kept: ReadonlySet<string>,
): UnboundSecret[] {
  const [old, next] = [withDefaults(fields, before), withDefaults(fields, after)];
  return fields.flatMap(({ key, secret, sent_to }) => {
    if (secret !== true || !kept.has(key)) return [];
    const changed = destinationsOf(fields, key, sent_to).find((each) => leadsElsewhere(old, next, each));
    return changed === undefined ? [] : [{ key, destination: changed }];
  });
}

function destinationsOf(fields: readonly PluginField[], secret: string, declared?: readonly string[]): string[] {
  const wanted = ({ key }: PluginField): boolean =>
    key !== secret && (declared === undefined ? addressLike.test(key) : declared.includes(key));
  return fields.filter(wanted).map(({ key }) => key);
}

function leadsElsewhere(before: SettingValues, after: SettingValues, key: string): boolean {
  const known = placesIn(before, key);
  const places = placesIn(after, key);
  return places.size === 0 ? known.size > 0 : [...places].some((place) => !known.has(place));
}

/** Another path on the same server is the same destination. Text that is not a URL is compared as it is. */
function placesIn(settings: SettingValues, key: string): Set<string> {
  const value = ownValue(settings, key);
  if (value === undefined || !isGiven(value)) return new Set();
  const text = settingText(value);
  const words = (typeof text === 'string' ? text : JSON.stringify(text)).split(/\s+/).filter((word) => word !== '');
  return new Set(words.map((word) => originOf(word) ?? word));
}

function originOf(word: string): string | undefined {
  const url = URL.parse(word);
  // Addresses with schemes unknown to Node have the origin "null".
  return url === null || url.origin === 'null' ? undefined : url.origin;
}
