import { Badge } from '../../components/badge.tsx';
import { formatBytes, formatDuration, formatRate } from '../../components/format-number.ts';
import { Section } from '../../components/section.tsx';
import type { Run, RunState, Stage } from './imports-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { isUnfinished } from '../../components/run-state-badge.tsx';

const meanings: Readonly<Record<Stage['stage'], string>> = {
  export: 'Records are fetched from the source',
  check: 'Every record is made into events and examined',
  replace: 'Earlier runs are taken back',
  load: 'Events are sent',
  verify: 'What is stored is compared with what was sent',
  report: 'The sums are written down',
  undo: 'What was stored is taken back',
};

/** Stage by stage: parts, amount, speed, time left. */
export function RunStages({ run }: { readonly run: Run }) {
  return (
    <Section title="Stages" flush>
      <ol>
        {run.stages.map((stage) => (
          <StageRow key={stage.stage} stage={stage} runState={run.state} />
        ))}
      </ol>
    </Section>
  );
}

function StageRow({ stage, runState }: { readonly stage: Stage; readonly runState: RunState }) {
  const moving = isUnfinished(runState) && runState !== 'paused';
  const isActive = stage.state === 'active';
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-4 py-3 last:border-b-0">
      <div className="w-full sm:w-64">
        <p className="flex items-center gap-2 font-medium">
          {stage.stage}
          {stage.state === 'done' && <Badge tone="ok">done</Badge>}
          {isActive && <Badge tone="info">{moving ? 'now' : runState === 'paused' ? 'paused' : 'stopped'}</Badge>}
        </p>
        <p className="text-xs text-soft">{meanings[stage.stage]}</p>
      </div>
      <div className="min-w-40 flex-1">
        <ProgressBar label={`Stage ${stage.stage}`} share={stage.state === 'pending' ? 0 : stageShare(stage)} />
        <p className="pt-1 text-xs text-soft tabular-nums">{factsOf(stage, isActive && moving).join(' · ')}</p>
      </div>
    </li>
  );
}

function stageShare({ state, share }: Stage): number | null {
  return state === 'done' ? 1 : share;
}

function factsOf(stage: Stage, moving: boolean): string[] {
  if (stage.state === 'pending') return ['waits for its turn'];
  const of = (total: number | null): string => (total === null ? '' : ` of ${total.toLocaleString('en')}`);
  const ms = stage.started_at === null || stage.finished_at === null ? undefined : spanMs(stage);
  return [
    `${stage.done.toLocaleString('en')}${of(stage.total)} ${stage.unit}`,
    stage.parts_total === 0 || (stage.parts_total === null && stage.parts_done === 0)
      ? ''
      : `${stage.parts_done.toLocaleString('en')}${of(stage.parts_total)} parts`,
    stage.bytes === 0 ? '' : formatBytes(stage.bytes),
    moving && stage.rate > 0 ? formatRate(stage.rate) : '',
    moving && stage.eta_seconds !== null ? `${formatDuration(stage.eta_seconds * 1000)} left` : '',
    ms === undefined ? '' : `took ${formatDuration(ms)}`,
  ].filter((text) => text !== '');
}

function spanMs({ started_at: start, finished_at: end }: Stage): number {
  return Date.parse(end ?? '') - Date.parse(start ?? '');
}
