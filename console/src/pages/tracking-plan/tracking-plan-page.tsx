import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { TrackingPlanRecord } from '../../../../src/wire/contract/tracking-plan.ts';
import { Button } from '../../components/button.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { UnsavedGuard } from '../../components/unsaved-guard.tsx';
import { useHasRole, useProject } from '../../shell/project-context.tsx';
import { EventsTab } from './events-tab.tsx';
import { LearnDialog } from './learn-dialog.tsx';
import { draftOf, type PlanDraft } from './plan-form.ts';
import { planQuery } from './plan-queries.ts';
import { SaveDialog } from './save-dialog.tsx';
import type { planTabs } from './tracking-plan-search.ts';
import { VersionsTab } from './versions-tab.tsx';
import { ViolationsTab } from './violations-tab.tsx';

const route = getRouteApi('/projects/$projectId/tracking-plan');
const tabs = [
  { value: 'events', label: 'Events' },
  { value: 'violations', label: 'Violations' },
  { value: 'versions', label: 'Versions' },
] as const satisfies readonly { readonly value: (typeof planTabs)[number]; readonly label: string }[];

/** The tracking plan of the project: what its events look like, and what violates it. */
export function TrackingPlanPage() {
  const { id } = useProject();
  const plan = useQuery(planQuery(id));
  if (plan.data !== undefined) return <PlanEditor record={plan.data} />;
  return (
    <>
      <Header />
      {plan.error === null ? <Loading /> : <ErrorState error={plan.error} onRetry={() => void plan.refetch()} />}
    </>
  );
}

function Header({ actions }: { readonly actions?: ReactNode }) {
  return (
    <PageHeader
      title="Tracking plan"
      description="Events of the project with their properties. What violates the plan is counted, and stored, dropped or kept as a dead letter."
      actions={actions}
    />
  );
}

/** Holds unsaved changes, which a new version of the plan does not replace. */
function PlanEditor({ record }: { readonly record: TrackingPlanRecord }) {
  const { tab = 'events' } = route.useSearch();
  const navigate = route.useNavigate();
  const canEdit = useHasRole('editor');
  /** `undefined` without changes. `version` is the one that was changed. */
  const [changed, setChanged] = useState<{ readonly draft: PlanDraft; readonly version: number }>();
  const [open, setOpen] = useState<'learn' | 'save'>();
  const stored = draftOf(record.plan);
  const draft = changed?.draft ?? stored;
  const isDirty = changed !== undefined && JSON.stringify(changed.draft) !== JSON.stringify(stored);
  const change = (next: PlanDraft): void =>
    setChanged((before) => ({ draft: next, version: before?.version ?? record.version }));
  return (
    <>
      <UnsavedGuard dirty={isDirty} />
      <Header
        actions={
          canEdit && (
            <>
              <Button onClick={() => setOpen('learn')}>Learn from events</Button>
              {isDirty && <Button onClick={() => setChanged(undefined)}>Discard changes</Button>}
              <Button kind="primary" disabled={!isDirty} onClick={() => setOpen('save')}>
                Save
              </Button>
            </>
          )
        }
      />
      {isDirty && (
        <div className="pb-4">
          <Notice tone="info">These changes are not saved. Events are validated by version {record.version}.</Notice>
        </div>
      )}
      <Tabs
        tabs={tabs}
        value={tab}
        onChange={(next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true })}
      >
        {tab === 'events' && (
          <EventsTab draft={draft} isSaved={record.plan !== null} onChange={change} canEdit={canEdit} />
        )}
        {tab === 'violations' && <ViolationsTab />}
        {tab === 'versions' && <VersionsTab record={record} canEdit={canEdit} onRestore={change} />}
      </Tabs>
      <LearnDialog open={open === 'learn'} draft={draft} onClose={() => setOpen(undefined)} onUse={change} />
      {changed !== undefined && (
        <SaveDialog
          open={open === 'save'}
          before={stored}
          draft={changed.draft}
          version={changed.version}
          onClose={() => setOpen(undefined)}
          onSaved={() => setChanged(undefined)}
        />
      )}
    </>
  );
}
