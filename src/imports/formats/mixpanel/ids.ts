import { idOf, type Json } from '../read-values.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';

const devicePrefix = '$device:';

/** A device is called by its bare id everywhere, so that its events and the link to its user meet. */
function bare(id: string): string {
  return id.startsWith(devicePrefix) && id.length > devicePrefix.length ? id.slice(devicePrefix.length) : id;
}

/** The id that says who did it; undefined when the record has none at all. */
export function distinctIdOf(source: Json): string | undefined {
  const given = idOf(source['distinct_id']);
  if (given !== undefined && !isAnonymous(given) && !isPlaceholderId(given)) return given;
  const before = idOf(source['$distinct_id_before_identity']);
  if (before !== undefined && !isPlaceholderId(before)) return bare(before);
  const other = userOf(source) ?? deviceOf(source);
  if (other !== undefined) return other;
  return given === undefined ? undefined : bare(given);
}

export function userOf(source: Json): string | undefined {
  const id = idOf(source['$user_id']);
  return id === undefined || isPlaceholderId(id) ? undefined : id;
}

export function deviceOf(source: Json): string | undefined {
  const id = idOf(source['$device_id']);
  return id === undefined || isPlaceholderId(id) ? undefined : bare(id);
}

export const failureKey = '$identity_failure_reason';

/** Mixpanel itself did not tie the ids of this record together. */
export function isFailedLink(source: Json): boolean {
  const reason = source[failureKey];
  return reason !== undefined && reason !== null && reason !== '';
}

/** The id of a profile or of an identity event. */
export function plainIdOf(value: unknown): string | undefined {
  const id = idOf(value);
  return id === undefined ? undefined : bare(id);
}

/** An id made by a device: marked as one, or in capitals, digits and dashes as those of iOS. A number is a user's. */
function isAnonymous(id: string): boolean {
  return id.startsWith(devicePrefix) || (/^[A-Z0-9-]+$/.test(id) && /[A-Z]/.test(id));
}
