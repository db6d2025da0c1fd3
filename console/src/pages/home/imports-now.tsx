import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatDuration, formatRate } from '../../components/format-number.ts';
import { NumberText } from '../../components/number-text.tsx';
import { Section } from '../../components/section.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { runsQuery, type ListedRun } from './home-query.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { isUnfinished } from '../../components/run-state.ts';
import { RunStateBadge } from '../../components/run-state-badge.tsx';

const pollMs = 5_000;
const recentMs = 24 * 3_600_000;
const shownMax = 5;

/** Imports at work, and those that ended within a day: how far, how fast, with what result. */
export function ImportsNow() {
  const { id } = useProject();
  const { data } = useQuery({ ...runsQuery(id), refetchInterval: pollMs });
  const since = Date.now() - recentMs;
  const runs = (data?.results ?? []).filter(
    ({ state, finished_at: end }) => isUnfinished(state) || (end !== null && Date.parse(end) > since),
  );
  if (runs.length === 0) return null;
  return (
    <Section title="Imports" flush>
      <ul className="divide-y divide-line">
        {runs.slice(0, shownMax).map((run) => (
          <RunRow key={run.id} projectId={id} run={run} />
        ))}
      </ul>
    </Section>
  );
}

function RunRow({ projectId, run }: { readonly projectId: number; readonly run: ListedRun }) {
  const params = { projectId: String(projectId), configId: String(run.plugin_config), runId: run.id };
  const active = run.stages.find(({ stage }) => stage === run.stage);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 text-sm">
      <Link
        to="/projects/$projectId/imports/$configId/runs/$runId"
        params={params}
        search={{}}
        className="min-w-40 flex-1 font-medium hover:underline"
      >
        <UserText text={run.config_name ?? run.source} charsMax={80} short />
      </Link>
      <RunStateBadge run={run} />
      {isUnfinished(run.state) && active !== undefined ? (
        <div className="min-w-48 flex-1">
          <ProgressBar label={`Stage ${run.stage}`} share={active.share} />
          <p className="pt-1 text-xs text-soft tabular-nums">{factsOf(active).join(' · ')}</p>
        </div>
      ) : (
        <p className="min-w-48 flex-1 text-soft">
          <NumberText value={run.state === 'undone' ? 0 : run.totals.loaded} /> loaded,{' '}
          <NumberText value={run.totals.rejected} /> rejected
        </p>
      )}
    </li>
  );
}

function factsOf({ stage, done, unit, rate, eta_seconds: eta }: ListedRun['stages'][number]): string[] {
  return [
    `${stage}: ${done.toLocaleString('en')} ${unit}`,
    rate > 0 ? formatRate(rate) : '',
    eta === null ? '' : `${formatDuration(eta * 1000)} left`,
  ].filter((text) => text !== '');
}
