import { useEffect, useState } from 'react';
import { Badge } from '../../components/badge.tsx';
import { counted, formatBytes, formatDuration, formatRate } from '../../components/format-number.ts';
import { Section } from '../../components/section.tsx';
import type { Run, RunState, Stage } from './imports-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { Sparkline } from '../../components/sparkline.tsx';
import { durationMs, runProgress, stageNames } from '../../components/run-progress.ts';
import { isUnfinished } from '../../components/run-state-badge.tsx';

const descriptions: Readonly<Record<Stage['stage'], string>> = {
  export: 'Copies the records of the source',
  check: 'Converts and checks every record',
  replace: 'Removes the events of earlier runs',
  load: 'Stores the events in the target',
  verify: 'Compares stored events with the source',
  report: 'Sums up the result',
  undo: 'Removes the events of the run',
};

const partUnits: Readonly<Record<Exclude<Stage['stage'], 'report'>, string>> = {
  export: 'part',
  check: 'part',
  replace: 'day',
  load: 'day',
  verify: 'day',
  undo: 'month',
};

/** The stages of a run with parts, amount, rate and time left. */
export function RunStages({ run }: { readonly run: Run }) {
  const rates = useRates(run);
  return (
    <Section
      title={<RunTitle run={run} />}
      actions={rates.length > 1 && <Sparkline values={rates} label="Speed while this page is open" />}
      flush
    >
      <OverallProgress run={run} />
      <ol>
        {run.stages.map((stage) => (
          <StageRow key={stage.stage} stage={stage} runState={run.state} />
        ))}
      </ol>
    </Section>
  );
}

/** The active step of the run, or how long a finished one took. */
function RunTitle({ run }: { readonly run: Run }) {
  const progress = runProgress(run);
  if (isUnfinished(run.state) && progress !== undefined)
    return `Step ${progress.step} of ${progress.steps}: ${progress.name}`;
  const ms = durationMs(run);
  return ms === undefined ? 'Steps' : `Steps, ${formatDuration(ms)} in total`;
}

/** One bar for the whole run with its estimated end. */
function OverallProgress({ run }: { readonly run: Run }) {
  const progress = runProgress(run);
  if (!isUnfinished(run.state) || progress === undefined) return null;
  const { share, leftMs } = progress;
  const words = [
    `${Math.floor(share * 100)} % of the whole run`,
    run.state === 'paused'
      ? 'paused'
      : leftMs === undefined
        ? 'estimating the time left'
        : `about ${formatDuration(leftMs)} left`,
  ];
  return (
    <div className="border-b border-line bg-sunken px-4 py-3">
      <ProgressBar label="Whole run" share={share} />
      <p className="pt-1.5 text-sm font-medium tabular-nums">{words.join(' · ')}</p>
    </div>
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
          {stageNames[stage.stage]}
          {stage.state === 'done' && <Badge tone="ok">done</Badge>}
          {isActive && (
            <Badge tone="info">{isRunning ? 'running' : runState === 'paused' ? 'paused' : 'stopped'}</Badge>
          )}
        </p>
        <p className="text-xs text-soft">{descriptions[stage.stage]}</p>
      </div>
      <div className="min-w-40 flex-1">
        <ProgressBar
          label={`Step ${stageNames[stage.stage]}`}
          share={stage.state === 'pending' ? 0 : stageShare(stage)}
        />
        <p className="pt-1 text-xs text-soft tabular-nums">{factsOf(stage, isActive && isRunning).join(' · ')}</p>
      </div>
    </li>
  );
}

function stageShare({ state, share }: Stage): number | null {
  return state === 'done' ? 1 : share;
}

function factsOf(stage: Stage, isRunning: boolean): string[] {
  if (stage.state === 'pending') return ['not started'];
  const some = (done: number, total: number | null, one: string): string =>
    total === null ? counted(done, one) : `${done.toLocaleString('en')} of ${counted(total, one)}`;
  const ms = stage.started_at === null || stage.finished_at === null ? undefined : spanMs(stage);
  return [
    some(stage.done, stage.total, stage.unit === 'records' ? 'record' : 'event'),
    stage.stage === 'report' || stage.parts_total === 0 || (stage.parts_total === null && stage.parts_done === 0)
      ? ''
      : some(stage.parts_done, stage.parts_total, partUnits[stage.stage]),
    stage.bytes === 0 ? '' : formatBytes(stage.bytes),
    isRunning && stage.rate > 0 ? formatRate(stage.rate) : '',
    isRunning && stage.eta_seconds !== null ? `${formatDuration(stage.eta_seconds * 1000)} left` : '',
    ms === undefined ? '' : `took ${formatDuration(ms)}`,
  ].filter((text) => text !== '');
}

function spanMs({ started_at: start, finished_at: end }: Stage): number {
  return Date.parse(end ?? '') - Date.parse(start ?? '');
}
