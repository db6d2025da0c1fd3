import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ArrowRight, CircleCheck, CircleDashed } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Attention, LaneStatus, ProjectStatus } from '../../../../src/wire/contract/status.ts';
import { configsQuery } from '../../api/configs.ts';
import { projectStatusQuery, serviceStatusQuery } from '../../api/status.ts';
import { buttonStyle } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { formatBytes, formatDuration, formatRate } from '../../components/format-number.ts';
import { Loading } from '../../components/loading.tsx';
import { NumberText } from '../../components/number-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { plainText } from '../../components/plain-text.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { runProgress } from '../../components/run-progress.ts';
import { isUnfinished, RunStateBadge } from '../../components/run-state-badge.tsx';
import { Section } from '../../components/section.tsx';
import { StatTile } from '../../components/stat-tile.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { DemoNotice, DemoOffer } from './demo.tsx';
import { anyEventQuery, chartStart, countsQuery, hourlySums, type ListedRun, runsQuery } from './home-query.ts';
import { type Sender, senders } from './home-search.ts';
import { importCommand, snippet } from './snippets.ts';

const route = getRouteApi('/projects/$projectId/home');
const pollMs = 5_000;
const firstEventPollMs = 1_500;

/** Current traffic, imports, items that need attention, and the first steps of a new project. */
export function HomePage() {
  const { id, name } = useProject();
  const status = useQuery({ ...projectStatusQuery(id), refetchInterval: pollMs });
  return (
    <>
      <PageHeader
        title="Home"
        heading={<UserText text={name} charsMax={120} short />}
        description="Current traffic and items that need attention."
      />
      {status.data === undefined && status.error !== null && (
        <ErrorState error={status.error} onRetry={() => void status.refetch()} />
      )}
      <div className="flex flex-col gap-4">
        <DemoNotice />
        <FlowTiles status={status.data} />
        <RecentImports />
        <NewProject key={id} />
        <AttentionList attention={status.data?.attention} />
        <VolumeChart />
      </div>
    </>
  );
}

/** Shows the first steps until an event has arrived, or until the end of the visit if that happens while the page is open. */
function NewProject() {
  const { id } = useProject();
  const { sender = 'curl' } = route.useSearch();
  const navigate = route.useNavigate();
  const [wasNew, setWasNew] = useState(false);
  const live = useAnyEvent(id, false);
  const history = useAnyEvent(id, true);
  const transformations = useQuery({ ...configsQuery(id, 'transformation'), refetchInterval: pollMs, enabled: wasNew });
  const transformation = transformations.data?.results.some(({ enabled }) => enabled) === true;
  const isKnown = live !== undefined && history !== undefined;
  const isNew = isKnown && !live && !history;
  if (isNew && !wasNew) setWasNew(true);
  if (!isNew && !wasNew) return null;
  return (
    <FirstSteps
      sender={sender}
      onSender={(next) => void navigate({ search: { sender: next }, replace: true })}
      done={{ event: live === true, history: history === true, transformation }}
    />
  );
}

/** Tells whether any live or historical event exists, `undefined` while unknown. Polls until there is one. */
function useAnyEvent(projectId: number, historical: boolean): boolean | undefined {
  const { data } = useQuery({
    ...anyEventQuery(projectId, historical),
    refetchInterval: ({ state }) => ((state.data?.results.length ?? 0) > 0 ? false : firstEventPollMs),
  });
  return data && data.results.length > 0;
}

function VolumeChart() {
  const { id } = useProject();
  const now = Date.now();
  const { data } = useQuery({ ...countsQuery(id, now), refetchInterval: pollMs * 4 });
  const { times, live, historical } = hourlySums(data?.results ?? [], chartStart(now));
  return (
    <Section title="Events by hour" description="By event time, last two days.">
      {data === undefined ? (
        <Loading label="Counting events" />
      ) : data.results.length === 0 ? (
        <p className="text-sm text-soft">No events in the last two days.</p>
      ) : (
        <Chart
          label="Events by hour"
          kind="bars"
          times={times}
          series={[
            { label: 'Live', tone: 'accent', values: live },
            { label: 'Historical', tone: 'info', values: historical },
          ]}
        />
      )}
    </Section>
  );
}

const recentMs = 24 * 3_600_000;
const shownMax = 5;

/** Running imports and those that ended within a day, with progress, rate and result. */
function RecentImports() {
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
  const progress = runProgress(run);
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
      {isUnfinished(run.state) && progress !== undefined ? (
        <div className="min-w-48 flex-1">
          <ProgressBar label="Whole run" share={progress.share} />
          <p className="pt-1 text-xs text-soft tabular-nums">{factsOf(progress).join(' · ')}</p>
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

function factsOf({ name, step, steps, rate, leftMs }: NonNullable<ReturnType<typeof runProgress>>): string[] {
  return [
    `${name}, step ${step} of ${steps}`,
    rate > 0 ? formatRate(rate) : '',
    leftMs === undefined ? '' : `${formatDuration(leftMs)} left`,
  ].filter((text) => text !== '');
}

/** Rates of the project, and the backlog of the whole service. */
function FlowTiles({ status }: { readonly status: ProjectStatus | undefined }) {
  const isAdmin = useHasRole('admin');
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <StatTile
        label="Live events"
        value={<NumberText value={status?.received_per_second.live} unit="per_second" />}
        note="received, one-minute average"
      />
      <StatTile
        label="Historical events"
        value={<NumberText value={status?.received_per_second.historical} unit="per_second" />}
        note="received, one-minute average"
      />
      <StatTile
        label="Waiting to be stored"
        value={
          <NumberText value={status && status.lanes.live.waiting_events + status.lanes.historical.waiting_events} />
        }
        note={status && lagText(status.lanes.live, status.lanes.historical)}
      />
      {isAdmin ? <DiskTile /> : <StatTile label="Service" value={status?.status ?? '–'} />}
    </dl>
  );
}

function DiskTile() {
  const { data } = useQuery({ ...serviceStatusQuery, refetchInterval: pollMs });
  const used = data && data.disk.total_bytes - data.disk.free_bytes;
  return (
    <StatTile
      label="Disk free"
      value={<NumberText value={data?.disk.free_bytes} unit="bytes" />}
      note={data && used !== undefined && `${formatBytes(used)} of ${formatBytes(data.disk.total_bytes)} used`}
    />
  );
}

function lagText(live: LaneStatus, historical: LaneStatus): string {
  if (live.is_full || historical.is_full) return 'full, refusing new events';
  const oldest = Math.max(live.oldest_seconds, historical.oldest_seconds);
  if (oldest > 0) return `oldest waiting ${formatDuration(oldest * 1000)}`;
  return 'up to date';
}

const tones = { error: 'danger', warning: 'warn' } as const;

/** Items that need an action by a user, each with a link to the page for it. */
function AttentionList({ attention }: { readonly attention: readonly Attention[] | undefined }) {
  return (
    <Section title="Needs attention" flush>
      {attention?.length === 0 && (
        <p className="flex items-center gap-2 px-4 py-3 text-sm text-soft">
          <CircleCheck aria-hidden="true" className="size-4 text-ok" />
          Nothing needs attention.
        </p>
      )}
      <ul className="divide-y divide-line">
        {attention?.map((each) => (
          <AttentionRow key={`${each.code} ${each.target}`} attention={each} />
        ))}
      </ul>
    </Section>
  );
}

function AttentionRow({ attention: { severity, summary, action, since, target } }: { readonly attention: Attention }) {
  const { id } = useProject();
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-3">
      <StatusBadge tone={tones[severity]}>{severity}</StatusBadge>
      <div className="min-w-0 flex-1 basis-60">
        <p className="text-sm font-medium">
          <UserText text={summary} />
        </p>
        <p className="text-xs text-soft">
          <UserText text={action} />
          {since !== null && (
            <>
              {' · '}
              <TimeText time={since} form="ago" />
            </>
          )}
        </p>
      </div>
      <a
        href={`/console/projects/${id}/${target}`}
        aria-label={`Open: ${plainText(summary)}`}
        className="inline-flex items-center gap-1 text-sm font-medium text-accent hover:underline"
      >
        Open <ArrowRight aria-hidden="true" className="size-4" />
      </a>
    </li>
  );
}

interface FirstStepsProps {
  readonly sender: Sender;
  readonly onSender: (sender: Sender) => void;
  /** Whether a live event and a historical event have arrived, and whether a transformation is enabled. */
  readonly done: { readonly event: boolean; readonly history: boolean; readonly transformation: boolean };
}

const names: Readonly<Record<Sender, string>> = { curl: 'curl', node: 'Node.js', python: 'Python', browser: 'Browser' };

/** Onboarding for a new project; each step turns green when the service detects it. */
function FirstSteps({ sender, onSender, done }: FirstStepsProps) {
  const { id, api_token: key } = useProject();
  const params = { projectId: String(id) };
  const site = location.origin;
  return (
    <Section title="First steps" description="Each step turns green when the service detects it.">
      <ol className="flex flex-col gap-6">
        <Step title="Send your first event" done={done.event} waiting="Waiting for the first event">
          <Tabs
            tabs={senders.map((value) => ({ value, label: names[value] }))}
            value={sender}
            onChange={(next) => onSender(next)}
          >
            <CodeBlock code={snippet(sender, site, key)} />
          </Tabs>
        </Step>
        <Step title="Import your history" done={done.history} waiting="Waiting for the first historical event">
          <p className="pb-2 text-sm">
            From another tool, files, a bucket or a database. Checked before it is loaded, stored exactly once.
          </p>
          <CodeBlock code={importCommand(site, key)} />
          <p className="py-2">
            <Link to="/projects/$projectId/imports/new" params={params} className={buttonStyle('plain')}>
              Import in the console
            </Link>
          </p>
          <DemoOffer />
        </Step>
        <Step
          title="Transform events"
          done={done.transformation}
          waiting="No transformation enabled yet"
          doneLabel="Enabled"
        >
          <p className="flex flex-wrap gap-2">
            <Link to="/projects/$projectId/live" params={params} className={buttonStyle('plain')}>
              Open the live view
            </Link>
            <Link to="/projects/$projectId/transformations" params={params} className={buttonStyle('plain')}>
              Add a transformation
            </Link>
          </p>
        </Step>
      </ol>
    </Section>
  );
}

interface StepProps {
  readonly title: string;
  readonly done: boolean;
  readonly waiting: string;
  readonly doneLabel?: string;
  readonly children: ReactNode;
}

function Step({ title, done, waiting, doneLabel = 'Received', children }: StepProps) {
  const Icon = done ? CircleCheck : CircleDashed;
  return (
    <li className="flex gap-3">
      <Icon
        aria-hidden="true"
        className={done ? 'mt-0.5 size-5 shrink-0 text-ok' : 'mt-0.5 size-5 shrink-0 text-faint'}
      />
      <div className="min-w-0 flex-1">
        <h3 className="text-sm font-semibold">{title}</h3>
        <p role="status" className={done ? 'pb-2 text-xs text-ok' : 'pb-2 text-xs text-soft'}>
          {done ? doneLabel : waiting}
        </p>
        {children}
      </div>
    </li>
  );
}
