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
import { pathOf, type PathPart } from './event-path.ts';
import { StageBadge } from './stage-badge.tsx';

interface EventPathPanelProps {
  readonly chosen: LiveEvent | undefined;
  /** Recent events of the stream. */
  readonly seen: readonly LiveEvent[];
  readonly onClose: () => void;
}

/** The path of one event through the pipeline: its stages and the changes by each transformation. */
export function EventPathPanel({ chosen, seen, onClose }: EventPathPanelProps) {
  if (chosen === undefined) return null;
  const path = pathOf(chosen, seen);
  return (
    <SidePanel
      open
      onClose={onClose}
      title={<UserText text={chosen.event} charsMax={120} short />}
      description="Path through the pipeline, as seen in this session."
    >
      <Facts
        facts={[
          ['Distinct id', <UserText key="id" text={chosen.distinct_id} />],
          ['UUID', <Uuid key="uuid" uuid={uuidOf(path)} />],
          ['Received', <TimeText key="received" time={chosen.received_at} form="exact" />],
          ['Event time', <TimeText key="time" time={chosen.timestamp} form="exact" />],
          ['Kind', chosen.historical_migration ? 'Historical' : 'Live'],
        ]}
      />
      <ol className="flex flex-col gap-5 border-l border-line pl-4">
        {path.map((part, index) => (
          <li key={index} className="flex min-w-0 flex-col gap-2">
            {part.kind === 'stage' ? <Stage seen={part.seen} /> : <Step {...part} />}
          </li>
        ))}
      </ol>
    </SidePanel>
  );
}

function uuidOf(path: readonly PathPart[]): string | null {
  return path.reduce<string | null>((found, part) => (part.kind === 'stage' ? (part.seen.uuid ?? found) : found), null);
}

function Uuid({ uuid }: { readonly uuid: string | null }) {
  if (uuid === null) return <span className="text-soft">assigned when stored</span>;
  return (
    <span className="flex flex-wrap items-center gap-1">
      <UserText text={uuid} /> <CopyButton text={uuid} label="Copy UUID" />
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
        <p className="text-soft">The properties are too large to show or cannot be read.</p>
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
            Open stored event
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
            Open dead letter
          </Link>
        </p>
      )}
    </>
  );
}

const outcomes = {
  succeeded: { tone: 'ok', text: 'changed' },
  failed: { tone: 'danger', text: 'failed, event unchanged' },
  dropped: { tone: 'warn', text: 'dropped' },
  skipped: { tone: 'neutral', text: 'not run, event unchanged' },
} as const;
const unchanged = { tone: 'neutral', text: 'unchanged' } as const;

/** Removes the properties that record which transformations ran, since every step changes them. */
function unmarked(event: LiveSnapshot): LiveSnapshot {
  return event.properties === null ? event : { ...event, properties: withoutMarks(event.properties) };
}

function Step({ step, before }: Extract<PathPart, { kind: 'step' }>) {
  const { id } = useProject();
  const [from = null, to = null] = [before, step.after].map((each) => each && unmarked(each));
  const isUnchanged = step.outcome === 'succeeded' && sameJson(from, to);
  const outcome = isUnchanged ? unchanged : outcomes[step.outcome];
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
