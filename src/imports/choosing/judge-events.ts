import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { FoundOdd } from '../formats/format.ts';
import { deviceOnly, devicesIn, neverMerge } from './identity-policy.ts';
import type { JoinTable } from './join-table.ts';
import { oddValueRules } from './odd-value-rules.ts';
import { changesOf, filtersOf, linkFilterOf } from './order.ts';
import { ruledEvent } from './reject-odd.ts';
import { isLink, type Change } from './step.ts';

/** What a choice makes of the events of one record, which it judges without looking at any other. */
export interface Judge {
  /** Whether there is anything that it may leave out: then all that a record says has to be looked at first. */
  readonly leavesOut: boolean;
  /** What stays of the events that a record says itself. `said`: all that it says. */
  look(said: readonly WireEvent[]): Judged & { readonly odd: readonly FoundOdd[] };
  /** What stays of the events that a reader makes of a record of which something stays. */
  take(events: readonly WireEvent[], said: readonly WireEvent[]): Judged;
}

export interface Judged {
  readonly events: readonly WireEvent[];
  readonly leftOut: readonly { readonly event: WireEvent; readonly reason: string }[];
}

type Devices = ReadonlyMap<string, string> | undefined;
type JudgeOne = (event: WireEvent, isOwn: boolean) => WireEvent | string;

/** Undefined: the choice is about nothing in events. */
export function createJudge(
  choice: ImportChoice,
  { tables, now }: { readonly tables: readonly JoinTable[]; readonly now: number },
): Judge | undefined {
  const rules = oddValueRules(choice, now);
  const filters = filtersOf(choice);
  const linkFilter = [linkFilterOf(choice)];
  const changes = changesOf(choice, tables);
  const isDeviceOnly = choice.identity === 'device_only';
  // Of the changes only these leave something out.
  const leaving = choice.identity === 'never_merge' ? [neverMerge()] : [];
  const leavesOut = rules.length + filters.length + leaving.length > 0 || isDeviceOnly;
  if (!leavesOut && changes.length === 0) return undefined;

  const devicesOf = (said: readonly WireEvent[]): Devices =>
    isDeviceOnly ? devicesIn(said.map((event) => ruledEvent(event, rules, [])).filter(isEvent)) : undefined;
  const judgeBy =
    (applied: readonly Change[], devices: Devices, odd: FoundOdd[]): JudgeOne =>
    (event, isOwn) => {
      const ruled = ruledEvent(event, rules, odd);
      if (typeof ruled === 'string') return ruled;
      for (const reasonOf of isOwn ? filters : linkFilter) {
        const reason = reasonOf(ruled);
        if (reason !== undefined) return reason;
      }
      let changed = devices === undefined ? ruled : deviceOnly(ruled, devices);
      for (const change of applied) {
        if (typeof changed === 'string') return changed;
        changed = change(changed);
      }
      return changed;
    };
  return {
    leavesOut,
    look: (said) => {
      const odd: FoundOdd[] = [];
      return { ...judgeAll(ownEvents(said), judgeBy(leaving, devicesOf(said), odd)), odd };
    },
    take: (events, said) => judgeAll(events, judgeBy(changes, devicesOf(said), [])),
  };
}

function judgeAll(events: readonly WireEvent[], judge: JudgeOne): Judged {
  const own = new Set(ownEvents(events));
  const kept: WireEvent[] = [];
  const leftOut: { readonly event: WireEvent; readonly reason: string }[] = [];
  for (const event of events) {
    const judged = judge(event, own.has(event));
    if (typeof judged === 'string') leftOut.push({ event, reason: judged });
    else kept.push(judged);
  }
  return { events: kept, leftOut };
}

/** What a record says itself. Links beside other events are the reader's; a record of links alone means them. */
function ownEvents(events: readonly WireEvent[]): readonly WireEvent[] {
  const own = events.filter((event) => !isLink(event));
  return own.length === 0 ? events : own;
}

function isEvent(event: WireEvent | string): event is WireEvent {
  return typeof event !== 'string';
}
