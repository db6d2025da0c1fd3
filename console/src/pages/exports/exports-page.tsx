import { getRouteApi } from '@tanstack/react-router';
import { PageHeader } from '../../components/page-header.tsx';
import { useHasRole } from '../../shell/project-context.tsx';
import { ExportForm } from './export-form.tsx';
import { ExportsTable } from './exports-table.tsx';

const route = getRouteApi('/projects/$projectId/exports');

/** Exports of events, persons and groups. */
export function ExportsPage() {
  const search = route.useSearch();
  const canEdit = useHasRole('editor');
  return (
    <>
      <PageHeader
        title="Exports"
        description="Events, persons and groups as files, for download or in a bucket. Files are removed some days after an export has ended."
      />
      <div className="flex flex-col gap-4">
        {/* Another filter begins another form. */}
        {canEdit && <ExportForm key={JSON.stringify(search)} search={search} />}
        <ExportsTable />
      </div>
    </>
  );
}
