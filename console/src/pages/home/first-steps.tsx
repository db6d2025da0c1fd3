import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleDashed } from 'lucide-react';
import type { ReactNode } from 'react';
import { buttonStyle } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Section } from '../../components/section.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { senders, type Sender } from './home-search.ts';
import { importCommand, snippet } from './snippets.ts';

interface FirstStepsProps {
  readonly sender: Sender;
  readonly onSender: (sender: Sender) => void;
  /** Whether a live event and a historical event have arrived, and whether a transformation is enabled. */
  readonly done: { readonly event: boolean; readonly history: boolean; readonly transformation: boolean };
}

const names: Readonly<Record<Sender, string>> = { curl: 'curl', node: 'Node.js', python: 'Python', browser: 'Browser' };

/** Onboarding for a new project; each step turns green when the service detects it. */
export function FirstSteps({ sender, onSender, done }: FirstStepsProps) {
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
          <p className="pt-2">
            <Link to="/projects/$projectId/imports/new" params={params} className={buttonStyle('plain')}>
              Import in the console
            </Link>
          </p>
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
