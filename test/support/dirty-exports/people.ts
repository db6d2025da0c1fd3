import type { Draw } from '../draw.ts';

/** Who did something, and where. */
export interface Who {
  /** Undefined: not signed in. */
  readonly user: string | undefined;
  readonly device: string;
  /** An id as the store keeps it. */
  readonly stored: (id: string) => string;
}

const users = 300;
/** Every tenth device is one that several users share. */
const devices = 400;
const idCharsMax = 200;

/** `isPadded`: some users have white space around their id, which is a part of it. */
export function drawWho(draw: Draw, { isPadded = false } = {}): Who {
  const number = draw.int(devices);
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
  /** `2024-03-10 02:30:00.123000`, in UTC. */
  readonly text: string;
  readonly ms: number;
}

const firstMs = Date.UTC(2023, 0, 1);
const days = 40;
/** Nights in which clocks are changed in Europe and America. */
const edges = [Date.UTC(2023, 2, 12, 10), Date.UTC(2023, 2, 26, 1), Date.UTC(2023, 10, 5, 9), Date.UTC(2023, 9, 29, 1)];

/** Whole seconds, fractions, milliseconds, texts, the beginning of 1970, nights of a change of clocks. */
export function drawTime(draw: Draw): Time {
  if (draw.chance(0.003)) return timeOf(0, '0');
  const base = draw.chance(0.02) ? draw.pick(edges) : firstMs + draw.int(days) * 86_400_000;
  const ms = base + draw.int(86_400) * 1000 + (draw.chance(0.3) ? draw.int(1000) : 0);
  const seconds = String(ms / 1000);
  return timeOf(ms, draw.pick([seconds, seconds, String(ms), `"${seconds}"`]));
}

function timeOf(ms: number, epoch: string): Time {
  return { epoch, text: `${new Date(ms).toISOString().slice(0, -1).replace('T', ' ')}000`, ms };
}
