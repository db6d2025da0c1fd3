import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';
import { classNames } from '../../components/class-names.ts';
import { NumberText } from '../../components/number-text.tsx';
import type { LiveView } from './live-buffer.ts';
import { stageNames } from './stage-badge.tsx';

interface StageFilterProps {
  /** undefined: all. */
  readonly chosen: readonly LiveStage[] | undefined;
  readonly seen: LiveView['seen'];
  readonly onChange: (stages: readonly LiveStage[] | undefined) => void;
}

/** Which stages are watched, each with the number of events seen there. */
export function StageFilter({ chosen = liveStages, seen, onChange }: StageFilterProps) {
  const toggle = (stage: LiveStage): void => {
    const next = liveStages.filter((each) => (each === stage) !== chosen.includes(each));
    onChange(next.length === 0 || next.length === liveStages.length ? undefined : next);
  };
  return (
    <div role="group" aria-label="Stages" className="flex flex-wrap gap-1">
      {liveStages.map((stage) => {
        const on = chosen.includes(stage);
        return (
          <button
            key={stage}
            type="button"
            aria-pressed={on}
            onClick={() => toggle(stage)}
            className={classNames(
              'inline-flex h-8 items-center gap-1.5 rounded-md border px-2.5 text-xs font-medium',
              on ? 'border-accent bg-accent-soft text-accent' : 'border-line bg-surface text-soft hover:bg-hover',
            )}
          >
            {stageNames[stage]} {on && <NumberText value={seen[stage]} unit="short" />}
          </button>
        );
      })}
    </div>
  );
}
