import { idOf, type Json } from '../read-values.ts';
import { isPlaceholderId } from '../../../base/placeholder-ids.ts';

const devicePrefix = '$device:';

/** Devices always have their bare id, so that their events and the link to their user match. */
function bare(id: string): string {
  return id.startsWith(devicePrefix) && id.length > devicePrefix.length ? id.slice(devicePrefix.length) : id;
}

/** Returns the id of the person; `undefined` if the record has no id. */
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

/** Whether Mixpanel itself failed to link the ids of the record. */
export function isFailedLink(source: Json): boolean {
  const reason = source[failureKey];
  return reason !== undefined && reason !== null && reason !== '';
}

/** Returns the id of a profile or an identity event. */
export function plainIdOf(value: unknown): string | undefined {
  const id = idOf(value);
  return id === undefined ? undefined : bare(id);
}

/**
 * Whether a device generated the id: it has the prefix, or consists of capitals, digits and dashes as on iOS. Numbers are user
 * ids.
 */
function isAnonymous(id: string): boolean {
  return id.startsWith(devicePrefix) || (/^[A-Z0-9-]+$/.test(id) && /[A-Z]/.test(id));
}
