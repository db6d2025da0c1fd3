import type { Draw } from '../draw.ts';
import { clockAt } from './wall-clock.ts';

/** Who did something, and where. */
export interface Who {
  /** Undefined: not signed in. */
  readonly user: string | undefined;
  readonly device: string;
  /** An id as the store keeps it. */
  readonly stored: (id: string) => string;
}

const users = 300;
/** Every tenth device is one that several users share; the others have one user each, who has several of them. */
const devices = 400;
/** Used rarely. */
const rareDevices = 40_000;
const idCharsMax = 200;

/** `isPadded`: some users have white space around their id, which is a part of it. */
export function drawWho(draw: Draw, { isPadded = false } = {}): Who {
  const number = draw.int(draw.chance(0.9) ? devices : rareDevices);
  const user = number % 10 === 0 ? draw.int(users) : number % users;
  const id = isPadded && user % 19 === 0 ? ` u${user}\t` : userId(user);
  return { user: draw.chance(0.6) ? id : undefined, device: `d-${number}`, stored };
}

/** Numbers beyond 2^53 among them, other scripts, and ids that are too long to be kept whole. */
function userId(user: number): string {
  if (user % 23 === 0) return `u${user}-${'x'.repeat(300)}`;
  if (user % 17 === 0) return `1234567890123456${100 + user}`;
  return user % 13 === 0 ? `ü-${user}` : `u${user}`;
}

function stored(id: string): string {
  return [...id].slice(0, idCharsMax).join('');
}

export interface Time {
  /** JSON: seconds or ms since the epoch, as number or text. */
  readonly epoch: string;
  /** `2024-03-10 02:30:00.123000`. */
  readonly text: string;
  /** Since the epoch: what it is taken for. */
  readonly ms: number;
}

const firstMs = Date.UTC(2023, 0, 1);
const days = 40;
/** When clocks change in Europe and, in the east and the west, in America. */
const changes = [
  Date.UTC(2023, 2, 26, 1),
  Date.UTC(2023, 9, 29, 1),
  Date.UTC(2023, 2, 12, 7),
  Date.UTC(2023, 10, 5, 6),
  Date.UTC(2023, 2, 12, 10),
  Date.UTC(2023, 10, 5, 9),
];

/** Whole seconds, fractions, the beginning of 1970, the hours before and after a change of clocks; since the epoch. */
export function drawMs(draw: Draw, zone = 'UTC'): number {
  if (draw.chance(0.003)) return 0;
  // In UTC no clock changes.
  const seconds = draw.chance(zone === 'UTC' ? 0.03 : 0.3)
    ? draw.pick(changes) / 1000 + draw.int(6 * 3600) - 3 * 3600
    : firstMs / 1000 + draw.int(days) * 86_400 + draw.int(86_400);
  return seconds * 1000 + (draw.chance(0.3) ? draw.int(1000) : 0);
}

/** By the clocks of the zone. */
export function drawTime(draw: Draw, zone = 'UTC'): Time {
  const { localMs, ms } = clockAt(draw, zone, drawMs(draw, zone));
  const seconds = String(localMs / 1000);
  // So few milliseconds would be taken for seconds.
  const epochs = localMs < Date.UTC(1990, 0, 1) ? [seconds] : [seconds, seconds, String(localMs), `"${seconds}"`];
  return { epoch: draw.pick(epochs), text: textOfMs(localMs), ms };
}

export function textOfMs(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1).replace('T', ' ')}000`;
}
