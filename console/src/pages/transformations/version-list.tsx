import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { refresh } from '../../api/queries.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Section } from '../../components/section.tsx';
import { TimeText } from '../../components/time-text.tsx';
import { useToast } from '../../components/toasts.tsx';
import { UserText } from '../../components/user-text.tsx';
import { useMay, useProject } from '../../shell/project-context.tsx';
import { pluginVersionsQuery, runVersion, transformationsPath, type Transformation } from './transformation-queries.ts';

interface VersionListProps {
  readonly config: Transformation;
  readonly current: string;
}

/** Every version that is kept; this step can run any of them, back and forth. */
export function VersionList({ config, current }: VersionListProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const toast = useToast();
  const mayEdit = useMay('editor');
  const versions = useQuery(pluginVersionsQuery(projectId, config.plugin));
  const change = useMutation({
    mutationFn: (version: string) => runVersion(projectId, config.id, version),
    onSuccess: async (_config, version) => {
      await refresh(client, transformationsPath(projectId));
      toast.done(`It runs version ${version} now.`);
    },
  });
  return (
    <Section title="Versions" flush>
      {versions.data === undefined && versions.error === null && <Loading rows={3} label="Loading versions" />}
      <ErrorNote error={versions.error ?? change.error} />
      <ul className="max-h-96 divide-y divide-line overflow-auto">
        {versions.data?.results.map(({ version, created_at, is_latest: isLatest }) => (
          <li key={version} className="flex min-h-12 items-center justify-between gap-2 px-4 py-2 text-sm">
            <span className="min-w-0">
              <UserText text={version} charsMax={60} short /> {isLatest && <Badge tone="neutral">latest</Badge>}
              <span className="block text-xs text-soft">
                <TimeText time={created_at} />
              </span>
            </span>
            {version === current ? (
              <Badge tone="ok">runs here</Badge>
            ) : (
              mayEdit && (
                <Button
                  size="small"
                  aria-label={`Run version ${version}`}
                  busy={change.isPending && change.variables === version}
                  onClick={() => change.mutate(version)}
                >
                  Run this
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
