import { fastId } from '../derived-uuids.ts';

/** Between 1973 and 2286; a smaller number is no time, and -1 means none. */
const earliestMs = 1e11;
const latestMs = 1e13;
const recentMax = 20_000;

/**
 * Amplitude numbers sessions by the ms of their start, and -1 means none. Here a session is a UUID of version 7 that tells
 * the same start; which device it belongs to decides the rest of it.
 */
export function createSessionIds(): (sessionId: unknown, deviceOf: () => string) => string | undefined {
  // Records of one session mostly follow each other.
  const recent = new Map<string, { readonly start: number; readonly id: string }>();
  return (sessionId, deviceOf) => {
    const start = typeof sessionId === 'string' ? Number(sessionId) : sessionId;
    if (typeof start !== 'number' || !isStart(start)) return undefined;
    const device = deviceOf();
    const known = recent.get(device);
    if (known?.start === start) return known.id;
    const id = uuidAt(start, fastId('amplitude', 'session', device, String(start)));
    if (recent.size >= recentMax) recent.clear();
    recent.set(device, { start, id });
    return id;
  };
}

function isStart(ms: number): boolean {
  return ms >= earliestMs && ms < latestMs && Number.isInteger(ms);
}

/** `random` lends everything after the time and the version. */
function uuidAt(ms: number, random: string): string {
  const time = ms.toString(16).padStart(12, '0').slice(-12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
