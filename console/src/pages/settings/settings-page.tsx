import { Facts } from '../../components/facts.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { DeleteSection } from './delete-section.tsx';
import { GeneralSection } from './general-section.tsx';
import { NoticesSection } from './notices-section.tsx';
import { ProjectKeySection } from './project-key-section.tsx';

/** Settings of the project. */
export function SettingsPage() {
  const { id, uuid, created_at: createdAt } = useProject();
  return (
    <>
      <PageHeader title="Settings" description="Of this project." />
      <div className="flex flex-col gap-4">
        <GeneralSection key={id} />
        <ProjectKeySection />
        <NoticesSection key={`notices of ${id}`} />
        <Section title="About">
          <Facts
            facts={[
              ['Id', <code key="id">{id}</code>],
              ['UUID', <code key="uuid">{uuid}</code>],
              ['Created', <TimeText key="created" time={createdAt} />],
            ]}
          />
        </Section>
        <DeleteSection />
      </div>
    </>
  );
}
