import { Section } from '../../components/section.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import type { ReasonCounts } from './dead-letters-query.ts';

interface ReasonsSectionProps {
  readonly counts: ReasonCounts;
  readonly chosen: string | undefined;
  readonly onChoose: (reason: string | undefined) => void;
}

/** How many there are of each reason; one can be chosen. */
export function ReasonsSection({ counts, chosen, onChoose }: ReasonsSectionProps) {
  if (counts.results.length === 0) return null;
  return (
    <Section title="By reason" flush>
      <ul className="divide-y divide-line">
        {counts.results.map((each) => (
          <li key={each.reason}>
            <button
              type="button"
              aria-pressed={each.reason === chosen}
              onClick={() => onChoose(each.reason === chosen ? undefined : each.reason)}
              className="flex w-full items-start gap-4 px-4 py-2.5 text-left hover:bg-hover aria-pressed:bg-accent-soft"
            >
              <span className="min-w-0 flex-1">
                <span className="block text-sm font-medium">
                  <UserText text={each.reason} />
                </span>
                <span className="block text-xs text-soft">
                  <UserText text={each.meaning} />
                </span>
              </span>
              <span className="shrink-0 text-right">
                <span className="block text-sm font-semibold tabular-nums">
                  <NumberText value={each.count} />
                </span>
                <span className="block text-xs text-soft">
                  <TimeText time={each.newest} form="ago" />
                </span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}
