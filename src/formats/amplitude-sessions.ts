import { fastId } from './derived-uuids.ts';

const startPattern = /^\d{12,14}$/;
const recentMax = 5000;

/**
 * Amplitude numbers sessions by the ms of their start, and -1 means none. Here a session is a UUID of version 7 that tells
 * the same start; which device it belongs to decides the rest of it.
 */
export function createSessionIds(): (sessionId: unknown, device: string) => string | undefined {
  const recent = new Map<string, string>();
  return (sessionId, device) => {
    if (typeof sessionId !== 'number' && typeof sessionId !== 'string') return undefined;
    const start = String(sessionId);
    if (!startPattern.test(start)) return undefined;
    const key = `${start}\u001f${device}`;
    const known = recent.get(key);
    if (known !== undefined) return known;
    const made = uuidAt(Number(start), fastId('amplitude', 'session', device, start));
    if (recent.size >= recentMax) recent.clear();
    recent.set(key, made);
    return made;
  };
}

/** `random` lends everything after the time and the version. */
function uuidAt(ms: number, random: string): string {
  const time = ms.toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
