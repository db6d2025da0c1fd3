import { isObject } from '../../base/json.ts';
import type { LineWriter } from './piece.ts';

/** Members that a batch gives once for all of its messages; the clock of the messages cannot be corrected without them. */
const sharedMembers = ['sentAt', 'receivedAt', 'requestIP', 'request_ip'] as const;

/** Records are held until the end of the batch, since its members may follow the list. No gateway accepts a larger batch. */
const heldBytesMax = 8 * 1024 * 1024;
/** Limit of a batch outside its list; larger ones are not searched for members. */
const outsideBytesMax = 64 * 1024;

type Shared = Readonly<Record<string, string | number>>;
const nothing: Shared = {};

/** Writes the records of `{"batch": […], "receivedAt": …}`, each with the members of the batch. */
export interface BatchMembers {
  /** Adds a record of the list. */
  record(parts: readonly Buffer[]): void;
  /** Adds bytes of the batch outside its list. */
  outside(bytes: Buffer): void;
  /** Ends the batch. `after`: the place of its last record. */
  end(after: string): void;
  /** Ends the input; records still held belong to a truncated batch. */
  close(): void;
}

export function createBatchMembers(writer: LineWriter, bytesMax: number = heldBytesMax): BatchMembers {
  let held: (readonly Buffer[])[] = [];
  let heldBytes = 0;
  let around: Buffer[] = [];
  let aroundBytes = 0;
  /** Members of a batch too large to be held. */
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
        const reason = `expected ${late.join(', ')} before the list of a batch of more than ${bytesMax} bytes, got it after the list: the times of its messages were not corrected by it`;
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

/** The message's own members take precedence. Its bytes stay unchanged. */
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
