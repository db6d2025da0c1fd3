import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { refresh } from '../../api/queries.ts';
import type { PluginInstall } from '../../../../src/wire/contract/plugins.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/error-note.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useProject } from '../../shell/project-context.tsx';
import { ArchiveForm } from './archive-form.tsx';
import { BuiltInGallery } from './built-in-gallery.tsx';
import { CodeForm } from './code-form.tsx';
import { PackageForm } from './package-form.tsx';
import { create, install, pluginsPath, transformationsPath } from './transformation-queries.ts';
import type { AddWay } from './transformations-search.ts';

const ways = [
  { value: 'built-in', label: 'Ready to use' },
  { value: 'npm', label: 'npm or repository' },
  { value: 'archive', label: 'Archive' },
  { value: 'code', label: 'Own code' },
] as const satisfies readonly { value: AddWay; label: string }[];

interface AddTransformationProps {
  readonly way: AddWay;
  readonly onWay: (way: AddWay) => void;
  readonly onClose: () => void;
}

/** A plugin that is there, or one to install first. */
export type Chosen = { readonly plugin: number } | { readonly source: PluginInstall | FormData };

/** A new step at the end of the chain, switched off; then its page opens. */
export function AddTransformation({ way, onWay, onClose }: AddTransformationProps) {
  const { id: projectId } = useProject();
  const client = useQueryClient();
  const navigate = useNavigate();
  const add = useMutation({
    mutationFn: async (chosen: Chosen) => {
      const plugin = 'plugin' in chosen ? chosen.plugin : (await install(projectId, chosen.source)).id;
      return create(projectId, plugin, '');
    },
    onSuccess: async ({ id }) => {
      await Promise.all([refresh(client, transformationsPath(projectId)), refresh(client, pluginsPath(projectId))]);
      await navigate({
        to: '/projects/$projectId/transformations/$configId',
        params: { projectId: String(projectId), configId: String(id) },
      });
    },
  });
  const form = { onChoose: (chosen: Chosen) => add.mutate(chosen), busy: add.isPending };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a transformation"
      description="It is added at the end of the chain, switched off: set it up and try it first."
      size="large"
    >
      <div className="flex flex-col gap-3">
        <ErrorNote error={add.error} />
        <Tabs
          tabs={ways}
          value={way}
          onChange={(next) => {
            add.reset();
            onWay(next);
          }}
        >
          {way === 'built-in' && <BuiltInGallery {...form} />}
          {way === 'npm' && <PackageForm {...form} />}
          {way === 'archive' && <ArchiveForm {...form} />}
          {way === 'code' && <CodeForm {...form} />}
        </Tabs>
      </div>
    </Dialog>
  );
}

export interface AddFormProps {
  readonly onChoose: (chosen: Chosen) => void;
  readonly busy: boolean;
}
