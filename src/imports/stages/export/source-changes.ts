import type { StoredPart } from '../../run/leased-run.ts';
import { SourceError, type Source, type SourceContext, type SourcePart } from '../../source.ts';

/**
 * The difference between what the source lists now and what was staged.
 * - added: nothing of it is staged
 * - changed: its content differs from what is staged
 * - touched: another identity, the same content; or nothing of it was read yet
 */
export interface SourceChange {
  readonly kind: 'added' | 'changed' | 'touched';
  readonly listed: SourcePart;
  /** `undefined` if added. */
  readonly stored: StoredPart | undefined;
}

interface FindChangesDeps {
  readonly source: Pick<Source, 'checksumNow'>;
  readonly context: SourceContext;
}

/** Returns changes in the order of the list. Missing parts do not count: if they were read completely they stay. */
export async function findChanges(
  { source, context }: FindChangesDeps,
  listed: readonly SourcePart[],
  stored: readonly StoredPart[],
): Promise<SourceChange[]> {
  const known = new Map(stored.map((part) => [part.key, part]));
  const keys = new Set(listed.map(({ key }) => key));
  const gone = stored.filter((part) => part.complete && !keys.has(part.key));
  const changes: SourceChange[] = [];
  for (const part of listed) {
    const before = known.get(part.key);
    if (before === undefined) {
      if (!(await isRenamed(gone, part, { source, context }))) {
        changes.push({ kind: 'added', listed: part, stored: undefined });
      }
    } else if (part.identity !== undefined && part.identity !== before.identity) {
      const isSame =
        isUnread(before) || before.identity === undefined || (await hasContentOf(before, part, { source, context }));
      changes.push({ kind: isSame ? 'touched' : 'changed', listed: part, stored: before });
    }
  }
  return changes;
}

function isUnread({ complete, segments }: StoredPart): boolean {
  return !complete && segments.length === 0;
}

/** Returns whether a part that was read under a name that is missing now is listed under another one. */
async function isRenamed(gone: readonly StoredPart[], part: SourcePart, deps: FindChangesDeps): Promise<boolean> {
  for (const each of gone) {
    const isSame = each.bytes === part.bytes && each.identity !== undefined && each.identity === part.identity;
    if (isSame || (await hasContentOf(each, part, deps))) return true;
  }
  return false;
}

async function hasContentOf(
  { complete, checksum, bytes }: StoredPart,
  part: SourcePart,
  { source, context }: FindChangesDeps,
): Promise<boolean> {
  if (!complete || checksum === undefined || bytes !== part.bytes) return false;
  try {
    return (await source.checksumNow?.(part, context)) === checksum;
  } catch (error) {
    // It has changed or disappeared after it was listed.
    if (error instanceof SourceError) return false;
    throw error;
  }
}

/** `a.jsonl grew from 10 to 20 bytes` */
export function describeChange({ kind, listed, stored }: SourceChange): string {
  const { key, bytes } = listed;
  if (kind === 'added') return `${key} is new`;
  const before = stored?.bytes;
  if (kind === 'touched') return `${key} was touched`;
  if (before === undefined || bytes === undefined) return `${key} was changed`;
  if (bytes === before) return `${key} was overwritten`;
  return `${key} ${bytes > before ? 'grew' : 'shrank'} from ${before} to ${bytes} bytes`;
}

const shownMax = 3;

/** `a.jsonl grew from 10 to 20 bytes, b.jsonl is new and 3 more` */
export function describeChanges(changes: readonly SourceChange[]): string {
  const shown = changes.slice(0, shownMax).map(describeChange).join(', ');
  return changes.length > shownMax ? `${shown} and ${changes.length - shownMax} more` : shown;
}
