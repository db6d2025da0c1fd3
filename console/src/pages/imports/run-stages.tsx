import { useEffect, useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { formatBytes, formatDuration, formatRate } from '../../components/format-number.ts';
import { Section } from '../../components/section.tsx';
import type { Run, RunState, Stage } from './imports-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { isUnfinished } from '../../components/run-state-badge.tsx';

const stageTexts: Readonly<Record<Stage['stage'], { readonly name: string; readonly description: string }>> = {
  export: { name: 'Export', description: 'Reads records from the source' },
  check: { name: 'Check', description: 'Converts and checks every record' },
  replace: { name: 'Replace', description: 'Undoes earlier runs' },
  load: { name: 'Load', description: 'Loads events into the target' },
  verify: { name: 'Verify', description: 'Compares stored events with loaded ones' },
  report: { name: 'Report', description: 'Writes the totals' },
  undo: { name: 'Undo', description: 'Removes the events of the run' },
};

const partUnits: Readonly<Record<Exclude<Stage['stage'], 'report'>, string>> = {
  export: 'parts',
  check: 'parts',
  replace: 'days',
  load: 'days',
  verify: 'days',
  undo: 'days',
};

/** The stages of a run with parts, amount, rate and time left. */
export function RunStages({ run }: { readonly run: Run }) {
  const rates = useRates(run);
  return (
    <Section
      title="Stages"
      actions={rates.length > 1 && <Sparkline values={rates} label="Speed while this page is open" />}
      flush
    >
      <ol>
        {run.stages.map((stage) => (
          <StageRow key={stage.stage} stage={stage} runState={run.state} />
        ))}
      </ol>
    </Section>
  );
}

const ratesMax = 60;

/** Returns the speeds of the active stage as far as this page saw them, oldest first. */
function useRates(run: Run): readonly number[] {
  const [rates, setRates] = useState<readonly number[]>([]);
  const isRunning = run.state === 'running';
  useEffect(() => {
    const rate = run.stages.find(({ stage }) => stage === run.stage)?.rate ?? 0;
    setRates((before) => (isRunning ? [...before.slice(1 - ratesMax), rate] : []));
  }, [run, isRunning]);
  return rates;
}

function StageRow({ stage, runState }: { readonly stage: Stage; readonly runState: RunState }) {
  const isRunning = isUnfinished(runState) && runState !== 'paused';
  const isActive = stage.state === 'active';
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-4 py-3 last:border-b-0">
      <div className="w-full sm:w-64">
        <p className="flex items-center gap-2 font-medium">
          {stageTexts[stage.stage].name}
          {stage.state === 'done' && <Badge tone="ok">done</Badge>}
          {isActive && (
            <Badge tone="info">{isRunning ? 'running' : runState === 'paused' ? 'paused' : 'stopped'}</Badge>
          )}
        </p>
        <p className="text-xs text-soft">{stageTexts[stage.stage].description}</p>
      </div>
      <div className="min-w-40 flex-1">
        <ProgressBar label={`Stage ${stage.stage}`} share={stage.state === 'pending' ? 0 : stageShare(stage)} />
        <p className="pt-1 text-xs text-soft tabular-nums">{factsOf(stage, isActive && isRunning).join(' · ')}</p>
      </div>
    </li>
  );
}

function stageShare({ state, share }: Stage): number | null {
  return state === 'done' ? 1 : share;
}

function factsOf(stage: Stage, isRunning: boolean): string[] {
  if (stage.state === 'pending') return ['pending'];
  const of = (total: number | null): string => (total === null ? '' : ` of ${total.toLocaleString('en')}`);
  const ms = stage.started_at === null || stage.finished_at === null ? undefined : spanMs(stage);
  return [
    `${stage.done.toLocaleString('en')}${of(stage.total)} ${stage.unit}`,
    stage.stage === 'report' || stage.parts_total === 0 || (stage.parts_total === null && stage.parts_done === 0)
      ? ''
      : `${stage.parts_done.toLocaleString('en')}${of(stage.parts_total)} ${partUnits[stage.stage]}`,
    stage.bytes === 0 ? '' : formatBytes(stage.bytes),
    isRunning && stage.rate > 0 ? formatRate(stage.rate) : '',
    isRunning && stage.eta_seconds !== null ? `${formatDuration(stage.eta_seconds * 1000)} left` : '',
    ms === undefined ? '' : `took ${formatDuration(ms)}`,
  ].filter((text) => text !== '');
}

function spanMs({ started_at: start, finished_at: end }: Stage): number {
  return Date.parse(end ?? '') - Date.parse(start ?? '');
}
