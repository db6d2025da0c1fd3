import { CodeBlock } from '../../components/code-block.tsx';
import { JsonDiff } from '../../components/json-diff.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/section.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import { unmarked } from './test-event.ts';
import type { Outcome, TestedEvent, TestedStep, TestResult } from './test-run.ts';

const tones = { kept: 'ok', dropped: 'warn', failed: 'danger', skipped: 'neutral' } as const satisfies Record<
  Outcome,
  string
>;

/** The event before and after every step. */
export function TestResultView({ result }: { readonly result: TestResult }) {
  return (
    <>
      {result.steps.map((step, index) => (
        <StepCard
          key={step.index}
          step={step}
          place={index + 1}
          // A step gets what the last one that kept the event made of it.
          before={result.steps[index - 1]?.after ?? result.before}
        />
      ))}
      {result.steps.length > 1 && (
        <Section title="All in all" actions={<StatusBadge tone={tones[result.outcome]}>{result.outcome}</StatusBadge>}>
          <JsonDiff
            label="Difference of all steps"
            before={unmarked(result.before)}
            after={result.after && unmarked(result.after)}
          />
        </Section>
      )}
    </>
  );
}

interface StepCardProps {
  readonly step: TestedStep;
  readonly place: number;
  readonly before: TestedEvent;
}

function StepCard({ step, place, before }: StepCardProps) {
  const { name, outcome, after, error, logs, captured, truncated, time_ms } = step;
  return (
    <Section
      title={
        <>
          {place}. <UserText text={name} charsMax={80} short />
        </>
      }
      description={`${time_ms.toLocaleString('en', { maximumFractionDigits: 3 })} ms`}
      actions={<StatusBadge tone={tones[outcome]}>{outcome}</StatusBadge>}
    >
      <div className="flex flex-col gap-3">
        {error !== null && (
          <Notice tone="danger">
            It failed, and the event goes on as it was before. <UserText text={`${error.name}: ${error.message}`} />
          </Notice>
        )}
        {outcome === 'skipped' && <Notice tone="info">It had nothing to do with this event.</Notice>}
        {truncated.length > 0 && <Notice tone="warn">Too large to be shown in whole: {truncated.join(', ')}.</Notice>}
        <JsonDiff label={`Difference of step ${place}`} before={unmarked(before)} after={after && unmarked(after)} />
        {logs.length > 0 && (
          <div className="flex flex-col gap-1">
            <h3 className="text-sm font-medium">Log</h3>
            <CodeBlock code={logs.map(({ level, message }) => `${level} ${message}`).join('\n')} />
          </div>
        )}
        {error !== null && error.stack !== '' && (
          <details>
            <summary className="text-sm">Where in the code</summary>
            <CodeBlock code={error.stack} />
          </details>
        )}
        {captured.length > 0 && (
          <p className="text-sm text-soft">
            It would have captured: <UserText text={captured.map(({ event }) => event).join(', ')} />
          </p>
        )}
      </div>
    </Section>
  );
}
