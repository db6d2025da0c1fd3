import { Link } from '@tanstack/react-router';
import type { LiveEvent, LiveSnapshot } from '../../../../src/wire/contract/live-events.ts';
import { buttonStyle } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { sameJson } from '../../components/json-value.ts';
import { JsonView } from '../../components/json-view.tsx';
import { withoutMarks } from '../../components/plugin-marks.ts';
import { Notice } from '../../components/notice.tsx';
import { SidePanel } from '../../components/side-panel.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { wayOf, type WayPart } from './event-way.ts';
import { StageBadge } from './stage-badge.tsx';

interface EventWayPanelProps {
  readonly chosen: LiveEvent | undefined;
  /** What the page has kept of the stream. */
  readonly seen: readonly LiveEvent[];
  readonly onClose: () => void;
}

/** The way of one event through the pipeline: its stages, and what each transformation made of it. */
export function EventWayPanel({ chosen, seen, onClose }: EventWayPanelProps) {
  if (chosen === undefined) return null;
  const way = wayOf(chosen, seen);
  return (
    <SidePanel
      open
      onClose={onClose}
      title={<UserText text={chosen.event} charsMax={120} short />}
      description="Its way through the pipeline, as far as it was seen here."
    >
      <Facts
        facts={[
          ['Distinct id', <UserText key="id" text={chosen.distinct_id} />],
          ['Uuid', <Uuid key="uuid" uuid={uuidOf(way)} />],
          ['Received', <TimeText key="received" time={chosen.received_at} form="exact" />],
          ['Time of the event', <TimeText key="time" time={chosen.timestamp} form="exact" />],
          ['Kind', chosen.historical_migration ? 'Of a historical import' : 'Live'],
        ]}
      />
      <ol className="flex flex-col gap-5 border-l border-line pl-4">
        {way.map((part, index) => (
          <li key={index} className="flex min-w-0 flex-col gap-2">
            {part.kind === 'stage' ? <Stage seen={part.seen} /> : <Step {...part} />}
          </li>
        ))}
      </ol>
    </SidePanel>
  );
}

function uuidOf(way: readonly WayPart[]): string | null {
  return way.reduce<string | null>((found, part) => (part.kind === 'stage' ? (part.seen.uuid ?? found) : found), null);
}

function Uuid({ uuid }: { readonly uuid: string | null }) {
  if (uuid === null) return <span className="text-soft">given when it is stored</span>;
  return (
    <span className="flex flex-wrap items-center gap-1">
      <UserText text={uuid} /> <CopyButton text={uuid} label="Copy the uuid" />
    </span>
  );
}

function Stage({ seen }: { readonly seen: LiveEvent }) {
  const { id } = useProject();
  const params = { projectId: String(id) };
  const { event, distinct_id, timestamp, properties } = seen;
  return (
    <>
      <h3 className="flex flex-wrap items-center gap-2 text-sm">
        <StageBadge stage={seen.stage} /> <TimeText time={seen.at} form="exact" />
      </h3>
      {seen.reason !== null && (
        <Notice tone={seen.stage === 'dead_letter' ? 'danger' : 'warn'}>
          <strong>
            <UserText text={seen.reason} />
          </strong>{' '}
          <UserText text={seen.detail ?? ''} />
        </Notice>
      )}
      {properties === null ? (
        <p className="text-soft">Its properties are too large to show here, or cannot be read.</p>
      ) : (
        <JsonView label={`Event as ${seen.stage}`} value={{ event, distinct_id, timestamp, properties }} />
      )}
      {seen.stage === 'stored' && seen.uuid !== null && (
        <p>
          <Link
            to="/projects/$projectId/events"
            params={params}
            search={{ uuid: seen.uuid }}
            className={buttonStyle('plain', 'small')}
          >
            Open among stored events
          </Link>
        </p>
      )}
      {seen.dead_letter !== null && (
        <p>
          <Link
            to="/projects/$projectId/dead-letters"
            params={params}
            search={{ letter: seen.dead_letter }}
            className={buttonStyle('plain', 'small')}
          >
            Open the dead letter
          </Link>
        </p>
      )}
    </>
  );
}

const outcomes = {
  succeeded: { tone: 'ok', text: 'changed it' },
  failed: { tone: 'danger', text: 'failed: the event went on untouched' },
  dropped: { tone: 'warn', text: 'dropped it' },
  skipped: { tone: 'neutral', text: 'could not run just then: the event went on untouched' },
} as const;
const passedOn = { tone: 'neutral', text: 'passed it on unchanged' } as const;

/** Without the notes of which steps it went through: every step changes those. */
function unmarked(event: LiveSnapshot): LiveSnapshot {
  return event.properties === null ? event : { ...event, properties: withoutMarks(event.properties) };
}

function Step({ step, before }: Extract<WayPart, { kind: 'step' }>) {
  const { id } = useProject();
  const marked = [before, step.after].map((each) => each && unmarked(each));
  const [from = null, to = null] = marked;
  const isUnchanged = step.outcome === 'succeeded' && sameJson(from, to);
  const outcome = isUnchanged ? passedOn : outcomes[step.outcome];
  return (
    <>
      <h3 className="flex flex-wrap items-center gap-2 text-sm">
        <Link
          to="/projects/$projectId/transformations/$configId"
          params={{ projectId: String(id), configId: String(step.config_id) }}
          className="font-medium underline"
        >
          <UserText text={step.label} charsMax={80} short />
        </Link>
        <StatusBadge tone={outcome.tone}>{outcome.text}</StatusBadge>
      </h3>
      {step.error !== null && (
        <Notice tone="danger">
          <UserText text={step.error} />
        </Notice>
      )}
      {!isUnchanged && <JsonDiff label={`Changes by ${step.label}`} before={from} after={to} />}
    </>
  );
}
