import { isObject } from '../../base/json.ts';
import type { LineWriter } from './piece.ts';

/** What a batch says once for all of its messages: without it their clock cannot be corrected. */
const sharedMembers = ['sentAt', 'receivedAt', 'requestIP', 'request_ip'] as const;

/** Held until the batch has ended, as its members may stand behind the list. No gateway takes a larger one. */
const heldBytesMax = 8 * 1024 * 1024;
/** Of a batch beside its list; larger ones are not read for members. */
const outsideBytesMax = 64 * 1024;

type Shared = Readonly<Record<string, string | number>>;
const nothing: Shared = {};

/** The records of `{"batch": […], "receivedAt": …}`, each with what the batch says of it. */
export interface BatchMembers {
  /** A record of the list. */
  record(parts: readonly Buffer[]): void;
  /** Bytes of the batch that stand outside its list. */
  outside(bytes: Buffer): void;
  /** The batch has ended. `after`: the place of its last record. */
  end(after: string): void;
  /** There is no more: what is held belongs to a batch that is cut off. */
  close(): void;
}

export function createBatchMembers(writer: LineWriter, bytesMax: number = heldBytesMax): BatchMembers {
  let held: (readonly Buffer[])[] = [];
  let heldBytes = 0;
  let around: Buffer[] = [];
  let aroundBytes = 0;
  /** Of a batch too large to be held. */
  let streamed: Shared | undefined;
  const text = (): string => (aroundBytes > outsideBytesMax ? '' : Buffer.concat(around).toString());
  const write = (shared: Shared): void => {
    for (const parts of held) writer.record(withMembers(parts, shared));
    held = [];
    heldBytes = 0;
  };
  return {
    record(parts) {
      if (streamed !== undefined) return writer.record(withMembers(parts, streamed));
      held.push(parts);
      heldBytes += parts.reduce((sum, part) => sum + part.length, 0);
      if (heldBytes <= bytesMax) return;
      streamed = membersOf(`${text()}]}`);
      write(streamed);
    },
    outside(bytes) {
      aroundBytes += bytes.length;
      if (aroundBytes <= outsideBytesMax) around.push(bytes);
    },
    end(after) {
      const shared = membersOf(text());
      const late = streamed === undefined ? [] : Object.keys(shared).filter((key) => streamed?.[key] === undefined);
      if (late.length > 0) {
        const reason = `expected ${late.join(', ')} before the list of a batch of more than ${bytesMax} bytes, got it behind: the times of its messages were not corrected by it`;
        writer.fault({ place: `after ${after}`, reason, original: '' });
      }
      write(shared);
      around = [];
      aroundBytes = 0;
      streamed = undefined;
    },
    close: () => write(membersOf(`${text()}]}`)),
  };
}

function membersOf(batch: string): Shared {
  const object = parsed(batch);
  if (object === undefined) return nothing;
  const found: Record<string, string | number> = {};
  for (const key of sharedMembers) {
    const value = object[key];
    if (typeof value === 'string' || typeof value === 'number') found[key] = value;
  }
  return found;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What the message says itself stands. The bytes of the message stay as they are. */
function withMembers(parts: readonly Buffer[], shared: Shared): readonly Buffer[] {
  const keys = Object.keys(shared);
  if (keys.length === 0) return parts;
  const whole = Buffer.concat(parts);
  if (whole[0] !== 0x7b) return parts;
  const own = keys.some((key) => whole.includes(`"${key}"`)) ? parsed(whole.toString()) : undefined;
  const added = keys.filter((key) => own === undefined || !Object.hasOwn(own, key));
  if (added.length === 0) return parts;
  const members = added.map((key) => `${JSON.stringify(key)}:${JSON.stringify(shared[key])}`).join(',');
  const isEmpty = whole.toString('latin1', 1, 100).trimStart().startsWith('}');
  return [Buffer.from(`{${members}${isEmpty ? '' : ','}`), whole.subarray(1)];
}
